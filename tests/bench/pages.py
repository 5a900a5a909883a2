"""The printed tables in docs/quickstart.md and the picture in the README, made again from real runs.

Run by name: python tests/bench/pages.py [SCENARIO ...]      (default: park-30 and rwp50-ped)
Simulation is deterministic, so the numbers change only with the code. park-30 also gives docs/report.webp, for
which Chromium must be installed; it needs Spark like every analysis, some 20 s a scenario on an idle machine.
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


def main() -> None:
    for name in sys.argv[1:] or SCENARIOS:
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
