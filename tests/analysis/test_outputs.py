"""What is written for people: whole or not at all, never through a link, in folders of any name, by no code found there."""
from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import AnalysisError, analyse, compare, means
from analysis.summary import Summary
from emulation.rundir import RunDirectory
from mobility.wholefile import write_whole
from tests.analysis.rundirs import network
from tests.cli.command import ENVIRONMENT, roamcast

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_is_written_whole_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "out"
    for content in (b"one", "zwei", b""):
        write_whole(path, content)
        assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert os.listdir(tmp_path) == ["out"] and path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    write_whole(path, "half a pair \ud800 of text")
    assert path.read_text() == "half a pair ? of text"


def _umask() -> int:
    old = os.umask(0)
    os.umask(old)
    return old


@pytest.mark.parametrize("kind", ["link", "dangling", "loop", "folder", "pipe"])
def test_nothing_is_written_through_what_is_no_file(tmp_path, kind):
    path, victim = tmp_path / "out.json", tmp_path / "victim"
    if kind != "dangling":
        victim.write_text("mine")
    if kind in ("link", "dangling"):
        path.symlink_to(victim)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(OSError, match="remove it"):
        write_whole(path, "theirs")
    with pytest.raises(AnalysisError, match=r"out\.json: cannot be written: it is .*remove it"):
        means.write(Summary("x", [{}]), path)
    assert sorted(os.listdir(tmp_path)) == before
    assert not victim.exists() if kind == "dangling" else victim.read_text() == "mine"


def test_what_no_longer_fits_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            write_whole(path, b"x" * 5000)
        except OSError as error:
            os._exit(7 if error.filename == str(path) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["report.html", "summary.json", "tables", ".tables.part"])
def test_the_analysis_writes_through_no_link_in_a_run_directory(tmp_path, name):
    path = network(3, 15.0, 4, deadline=5.0).write(tmp_path / "run")
    victim = tmp_path / "victim"
    victim.mkdir() if "tables" in name else victim.write_text("mine")
    (path / name).symlink_to(victim)
    with pytest.raises(AnalysisError, match=name):
        analyse(path)
    assert (path / name).is_symlink() and (os.listdir(victim) == [] if victim.is_dir() else victim.read_text() == "mine")


@pytest.mark.parametrize("words", [("dissect", "--out"), ("analyse", "run", "--out"), ("compare", "run", "run", "--out")])
def test_commands_write_through_no_link(tmp_path, words):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out.json").symlink_to("victim")
    network(3, 15.0, 4, deadline=5.0).write(tmp_path / "run")
    done = roamcast(*words, "out.json", cwd=tmp_path)
    assert done.returncode == 2 and "symbolic link" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "victim").read_text() == "mine"


def test_the_manifest_is_written_through_no_link(tmp_path):
    made = RunDirectory(tmp_path / "run", "", world="sim", now=lambda: 0.0)
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "run" / "manifest.json").unlink()
    (tmp_path / "run" / "manifest.json").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        made.finish("complete", 1.0)
    assert (tmp_path / "victim").read_text() == "mine"


def test_half_a_surrogate_pair_in_a_manifest_leaves_a_whole_report(spark, tmp_path):
    log = network(3, 15.0, 4, deadline=5.0)
    log.manifest |= {"outcome": "failed", "reason": "half \ud800", "machine": {"\udc00": "x"}, "fidelity": {"invalid_because": ["\udfff"]}}
    path = log.write(tmp_path / "run")
    analyse(path).table().encode()
    assert (path / "report.html").read_text().rstrip().endswith("</html>")


def test_an_analysis_that_fails_leaves_the_tables_of_the_last_one(spark, tmp_path):
    path = network(3, 15.0, 4, deadline=5.0).write(tmp_path / "run")
    analyse(path)
    before = sorted(os.listdir(path / "tables"))
    (path / "nodes" / "2.jsonl").unlink()
    (path / "nodes" / "2.jsonl").mkdir()
    with pytest.raises(AnalysisError):
        analyse(path)
    assert sorted(os.listdir(path / "tables")) == before and not (path / ".tables.part").exists()


def known(summary: Summary) -> dict[str, float]:
    return {key: value for key, value in summary.numbers[0].items() if value == value}


def test_a_run_directory_may_have_any_name(spark, tmp_path, monkeypatch):
    """From the folder that it is in: to Spark and Hadoop some names are patterns, schemes, hidden, or parts of a table."""
    log = network(3, 15.0, 4, deadline=5.0)
    monkeypatch.chdir(tmp_path)
    log.write(Path("plain"))
    wanted = known(analyse("plain"))
    assert wanted["messages"] == 3 * 15 * 8
    for name in ["[*]{,}? %41#\\:\n\t'\"~$;&x=1né漢", "2024-05-01T10:30:00", "_under", ".dot", "-dash"]:
        path = log.write(Path(name))
        assert known(analyse(path)) == wanted and (path / "report.html").is_file(), name
    [found] = compare.compare(["plain"], [path])
    assert {row.difference.mean for row in found.rows if row.difference.mean == row.difference.mean} == {0.0}


def test_a_folder_whose_name_is_no_text_is_a_sentence(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    try:
        network(3, 15.0, 4, deadline=5.0).write(path)
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(AnalysisError, match="its name is not UTF-8"):
        analyse(path)


# ---- Python files of the folder it is started in -----------------------------------------------------------------

OTHERS = ("numpy", "pandas", "pyspark", "pyarrow", "scipy", "scapy", "cloudpickle", "py4j", "cbor2", "trio", "pydantic", "tomli_w",
          "jinja2", "matplotlib", "sitecustomize", "usercustomize", "analysis", "cli", "node", "mobility", "emulation", "topologies")


def poisoned(folder: Path, marker: Path) -> Path:
    """`folder` with a file by the name of every module that may be asked for; each says in `marker` that it ran."""
    for name in sorted({*sys.stdlib_module_names, *OTHERS} - {"builtins", "sys"}):
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r} + ' ')\n")
    return folder


def as_installed(folder: Path) -> list[str]:
    """The command as `pip install` makes it, a script that Python starts without -P."""
    script = folder / "roamcast"
    script.write_text("import sys\nfrom cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n")
    return [sys.executable, str(script)]


@pytest.mark.parametrize("way", ["launcher", "pip"])
def test_no_file_of_a_run_directory_runs(tmp_path, way):
    """`analyse` and `compare`, whose Spark starts further Pythons, in the run directory itself."""
    marker, elsewhere = tmp_path / "ran", tmp_path / "bin"
    elsewhere.mkdir()
    run = poisoned(network(3, 15.0, 4, deadline=5.0).write(tmp_path / "run"), marker)
    command = [sys.executable, "-P", "-m", "cli"] if way == "launcher" else as_installed(elsewhere)
    words = ["analyse", "."]
    if way == "pip":
        network(3, 15.0, 5, deadline=5.0).write(tmp_path / "other")
        words = ["compare", ".", "--with", "../other"]
    done = subprocess.run([*command, *words], cwd=run, env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not marker.exists(), marker.read_text()


def test_no_file_of_the_folder_of_a_sweep_runs(tmp_path):
    """A sweep that is started in the folder of its results."""
    folder = tmp_path / "results"
    folder.mkdir()
    poisoned(folder, marker := tmp_path / "ran")
    code = ("from pathlib import Path; from emulation.studies import engine, results, simulators\n"
            "engine.work(simulators.done, [{'dispatchers': 12, 'available': 12}], "
            "lambda given, result: results.keep(Path('a.json'), result))")
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=folder, env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(next(folder.glob("*.json")).read_text().splitlines()[1])["link_messages"]
    assert not marker.exists(), marker.read_text()

