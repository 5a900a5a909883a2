"""The printed tables in docs/quickstart.md and the picture in the README, made again from real runs.

Run by name: python tests/bench/pages.py [park-30 | rwp50-ped | study ...]      (default: all)
Simulation is deterministic, so the numbers change only with the code. park-30 also gives docs/report.webp, for
which Chromium must be installed. All need Spark, some 20 s for each run on an idle machine; the study has ten.
"""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench import measured  # noqa: E402

PAGE = ROOT / "docs" / "quickstart.md"
PICTURE = ROOT / "docs" / "report.webp"
SCENARIOS = ("park-30", "rwp50-ped")
STUDY = "study"  # park-12 without and with replay, five seeds each
SHOWN = ("delivery ratio", "physical bound", "median", "99th percentile", "bytes per delivery", "link broke", "seeking")
WINDOW, WIDTH = (1180, 1490), 860  # pixels: of the browser, and of the picture


def command(name: str) -> str:
    return f"tests/bench/pages.py {name}"


def table(printed: str, name: str) -> str:
    """What `roamcast run` prints of a run, from the line that begins with its name to before the report's."""
    lines = printed.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(f"{name}: "))
    last = next(at for at, line in enumerate(lines) if line.startswith("Report: "))
    return "\n".join(lines[first:last]).rstrip()


def picture(report: Path, folder: Path) -> None:
    """The top of the report as the README shows it, below 200 kB."""
    from PIL import Image

    shot = folder / "report.png"
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--window-size={WINDOW[0]},{WINDOW[1] + 10}", "--virtual-time-budget=4000",
                    f"--screenshot={shot}", report.as_uri()], check=True, capture_output=True)
    image = Image.open(shot).convert("RGB").crop((0, 0, *WINDOW))
    image.resize((WIDTH, WINDOW[1] * WIDTH // WINDOW[0]), Image.Resampling.LANCZOS).save(PICTURE, quality=90, method=6)


def study(folder: Path) -> str:
    """What the quick start types in its third step, and what `roamcast compare` prints of it."""
    plain = (ROOT / "topologies" / "park-12.toml").read_text()
    sides = {"without": plain + "\n[node]\nreplay_window = 0\n", "plain": plain}
    runs = []
    for side, text in sides.items():
        (folder / f"{side}.toml").write_text(text)
        for seed in range(1, 6):
            runs.append(f"runs/{side}-{seed}")
            subprocess.run([str(ROOT / "roamcast"), "run", f"{side}.toml", "--seed", str(seed), "--no-analysis",
                            "--out", runs[-1]], check=True, cwd=folder)
    return subprocess.run([str(ROOT / "roamcast"), "compare", *runs], check=True, cwd=folder,
                          stdout=subprocess.PIPE, text=True).stdout


def excerpt(printed: str) -> str:
    """The heads of the table and some of its rows; three dots for what is left out."""
    lines = printed.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Delivery "))
    shown = lines[:first + 1] + [line for line in lines[first + 1:] if line[10:].lstrip().startswith(SHOWN)]
    return "\n".join([*(line.rstrip() for line in shown), "..."])


def main() -> None:
    for name in sys.argv[1:] or (*SCENARIOS, STUDY):
        if name == STUDY:
            with tempfile.TemporaryDirectory() as folder:
                text = f"{measured.stamp(load=False)}\n```text\n{excerpt(study(Path(folder)))}\n```\n"
                measured.write(PAGE, command(name), text)
            continue
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            done = subprocess.run([str(ROOT / "roamcast"), "run", str(ROOT / "topologies" / f"{name}.toml"),
                                   "--out", str(run)], check=True, stdout=subprocess.PIPE, text=True)
            text = f"{measured.stamp(load=False)}\n```text\n{table(done.stdout, name)}\n```\n"
            measured.write(PAGE, command(name), text)
            if name == SCENARIOS[0]:
                picture(run / "report.html", Path(folder))


if __name__ == "__main__":
    main()
