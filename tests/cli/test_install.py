"""`pip install roamcast`: one package for programs of others, a node with two libraries, a word for what is not there.

A wheel of this checkout is built, by way of its sdist, and installed into a fresh environment, beside wheels made of the
libraries that are installed here: nothing is asked of an index, unless this environment is too old to build a wheel by
itself. What needs more libraries is given those of this environment.
"""
from __future__ import annotations

import ast
import contextlib
import os
import re
import select
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from cli import bootstrap
from cli.main import commands
from tests.test_architecture import MAY_IMPORT, ROOT, committed, imports

WITHOUT = {"node", "pub", "sub", "radio", "replay", "exec"}  # need nothing that a host in the field lacks
MINUTE = 300.0  # s; so long only where the machine is busy


def closure(*names: str) -> set[str]:
    """These distributions and what they need on this system, all installed here."""
    found, open_ = set(), list(names)
    while open_:
        name = re.split(r"[ ;<>=!~\[]", open_.pop())[0].lower()
        if name not in found:
            try:
                open_ += [r for r in metadata.requires(name) or [] if "extra ==" not in r]
            except metadata.PackageNotFoundError:
                continue  # for another system
            found.add(name)
    return found


def repack(name: str, folder: Path) -> None:
    """A wheel of what is installed here under this name."""
    here = metadata.distribution(name)
    tags = [line.split("-") for line in re.findall(r"^Tag: (.*)$", here.read_text("WHEEL"), re.MULTILINE)]
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    with zipfile.ZipFile(folder / f"{name.replace('-', '_')}-{here.version}-{tag}.whl", "w") as archive:
        for file in here.files:
            if not file.parts[0].startswith(("..", "__pycache__")) and file.locate().is_file() and "__pycache__" not in file.parts:
                archive.write(file.locate(), str(file))


def backend(hook: str, source: Path, out: Path) -> subprocess.CompletedProcess:
    """What pip asks of the builder."""
    program = f"from setuptools import build_meta; build_meta.build_{hook}({str(out)!r})"
    return subprocess.run([sys.executable, "-c", program], cwd=source, capture_output=True, text=True)


def wheel_of(source: Path, out: Path) -> Path:
    if int(metadata.version("setuptools").partition(".")[0]) >= 71:  # from there on it makes wheels by itself
        done = backend("wheel", source, out)
    else:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), "."]
        done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("roamcast-*.whl"))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy, in which an earlier build left something."""
    copy = tmp_path_factory.mktemp("source") / "checkout"
    for path in committed():
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (copy / "build/lib/node").mkdir(parents=True)
    (copy / "build/lib/node/__init__.py").touch()
    return copy


def unpacked(checkout: Path, folder: Path) -> Path:
    """The source as its sdist has it."""
    done = backend("sdist", checkout, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(next(folder.glob("roamcast-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.glob("roamcast-*") if path.is_dir())


@pytest.fixture(scope="module")
def installed(tmp_path_factory, checkout) -> Path:
    """The `bin` of an environment with `pip install roamcast`."""
    folder = tmp_path_factory.mktemp("install")
    (folder / "wheels").mkdir()
    wheel = wheel_of(unpacked(checkout, folder), folder / "wheels")
    for name in closure("trio", "cbor2"):
        repack(name, wheel.parent)
    venv = folder / "venv"
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", venv], check=True)
    done = subprocess.run([*bootstrap._pip(venv, folder), "install", "-q", "--no-index", "--find-links", wheel.parent, "roamcast"],
                          capture_output=True, text=True, env=isolated(folder) | {"PIP_CONFIG_FILE": os.devnull})
    assert done.returncode == 0, done.stderr
    return venv / "bin"


def isolated(folder: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))} | {"HOME": str(folder)}


def roamcast(installed: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    """`more`: of the environment."""
    return subprocess.run([installed / "roamcast", *arguments], cwd=installed.parent.parent,
                          env=isolated(installed.parent) | more, capture_output=True, text=True, timeout=MINUTE)


@pytest.fixture
def site(installed) -> Path:
    return next(installed.parent.glob("lib/python3*/site-packages"))


def test_everything_lies_in_one_package(installed, site):
    record = next(site.glob("roamcast-*.dist-info/RECORD")).read_text()
    tops = {line.split(",")[0].partition("/")[0] for line in record.splitlines() if not line.startswith("../../../bin/roamcast,")}
    assert tops == {"roamcast", next(site.glob("roamcast-*.dist-info")).name}
    program = f"import importlib.util as u, roamcast; print([n for n in {sorted(MAY_IMPORT)} if u.find_spec(n)])"
    done = subprocess.run([installed / "python", "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_its_modules_know_each_other_by_their_full_names(site):
    modules = list((site / "roamcast").rglob("*.py*"))
    texts = {path: path.read_text(encoding="utf-8") for path in modules if path.suffix in (".py", ".pyi")}
    wrong = [f"{path}:{line} imports {name}" for path, text in texts.items() for line, name in imports(ast.parse(text))
             if name.partition(".")[0] in MAY_IMPORT]
    assert not wrong and len(texts) > 300
    for room in MAY_IMPORT:  # line for line what the checkout has
        for path in (ROOT / room).rglob("*.py"):
            assert texts[site / "roamcast" / path.relative_to(ROOT)].count("\n") == path.read_text(encoding="utf-8").count("\n")


def test_a_checkout_and_its_sdist_make_the_same_wheel(installed, checkout, tmp_path):
    names = [zipfile.ZipFile(wheel).namelist() for wheel in (
        wheel_of(checkout, tmp_path), next((installed.parent.parent / "wheels").glob("roamcast-*.whl")))]
    assert sorted(names[0]) == sorted(names[1]) and "roamcast/py.typed" in names[0]


def test_a_checkout_is_not_installed_in_place(checkout, tmp_path):
    done = backend("editable", checkout, tmp_path)
    assert done.returncode == 1 and not list(tmp_path.glob("*.whl"))
    assert done.stderr.splitlines()[-1].startswith("roamcast: cannot be installed with -e: a checkout runs as it is")


def test_a_scenario_is_run_and_analysed_with_the_labs_libraries(installed, tmp_path):
    """Spark's workers and all find the package where it is installed."""
    lab = {"PYTHONPATH": sysconfig.get_path("purelib")}
    (tmp_path / "walk.toml").write_text((ROOT / "topologies/park-12.toml").read_text().replace("duration = 120", "duration = 40"))
    done = roamcast(installed, "check", str(tmp_path / "walk.toml"), **lab)
    assert done.returncode == 0 and ": OK: 12 hosts, 40 s in sim" in done.stdout, done.stderr
    done = roamcast(installed, "run", str(tmp_path / "walk.toml"), "--out", str(tmp_path / "run"), **lab)
    assert done.returncode == 0 and "delivery ratio" in done.stdout, done.stderr
    assert (tmp_path / "run/report.html").is_file()


def test_the_types_of_the_public_names_are_seen(installed, tmp_path):
    """By mypy, in a project that is not ours, as strict as it gets."""
    pytest.importorskip("mypy")
    right = Path(__file__).with_name("stranger.py").read_text()
    (tmp_path / "right.py").write_text(right)
    (tmp_path / "wrong.py").write_text(right.replace('client.receive(30.0)', 'client.receive("soon")'))
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-executable", installed / "python", "right.py", "wrong.py"],
                          cwd=tmp_path, env=isolated(tmp_path), capture_output=True, text=True)
    assert done.stdout.count(": error: ") == 1 and 'Argument 1 to "receive" of "Client"' in done.stdout, done.stdout


def test_it_brings_two_libraries_and_what_they_need(site):
    names = {path.name.split("-")[0].lower() for path in site.glob("*.dist-info")}
    assert names == {name.replace("-", "_") for name in closure("trio", "cbor2")} | {"roamcast"}
    asked = next(site.glob("roamcast-*.dist-info")).joinpath("METADATA").read_text()
    plain = [line for line in re.findall(r"^Requires-Dist: (.*)$", asked, re.MULTILINE) if "extra ==" not in line]
    assert {re.split(r"[<>=]", line)[0] for line in plain} == {"trio", "cbor2"}


def test_what_needs_more_names_the_extra_in_one_sentence(installed):
    (installed.parent.parent / "walk").mkdir(exist_ok=True)
    arguments = {"run": ["chain-5"], "check": ["chain-5"], "analyse": ["walk"], "compare": ["walk", "walk"],
                 "dissect": ["walk/1.pcap"], "collect": ["walk", "--out", "run"],
                 "reproduce": ["dynamic-topology", "--out", "run"]}
    for command, words in arguments.items():
        assert command in commands()
        done = roamcast(installed, command, *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (command, done.stderr)
        assert "pip install '.[lab]'" in done.stderr, (command, done.stderr)
    shown = roamcast(installed, "--help")
    assert shown.returncode == 0 and all(f"  {command}" in shown.stdout for command in WITHOUT | arguments.keys())


@contextlib.contextmanager
def a_node(installed: Path, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A living one: its control socket and its configuration. It has to end well."""
    control = tmp_path / "c"
    config = tmp_path / "node.toml"
    config.write_text(f'id = 1\ninterface = "lo"\nbroadcast = "127.255.255.255"\nport = {40000 + os.getpid() % 20000}\n'
                      f'control = "{control}"\nrecords = "{tmp_path}/1.jsonl"\nstate = "{tmp_path}/state"\ndisk = 10\n')
    node = subprocess.Popen([installed / "roamcast", "node", "--config", config], env=isolated(tmp_path), stderr=subprocess.PIPE,
                            text=True)
    try:
        assert select.select([node.stderr], [], [], MINUTE)[0] and "node 1, epoch" in node.stderr.readline()
        yield control, config
    finally:
        node.terminate()
        node.communicate(timeout=MINUTE)
    assert node.returncode == 0 and '"kind":"node_stopped"' in (tmp_path / "1.jsonl").read_text()


def test_a_node_lives_there_and_serves_its_programs(installed, tmp_path):
    with a_node(installed, tmp_path) as (control, config):
        unit = roamcast(installed, "node", "--config", str(config), "--unit").stdout
        assert f"ExecStart={installed}/roamcast node --config {config}" in unit
        sub = subprocess.Popen([installed / "roamcast", "sub", "--control", control, "value > 3"], env=isolated(tmp_path),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "subscribed" in sub.stderr.readline()
        assert roamcast(installed, "pub", "--control", str(control), "value:=4").returncode == 0
        assert '"value": 4' in sub.stdout.readline()
        sub.kill()
        sub.communicate()
        program = [installed / "python", "-I", Path(__file__).with_name("stranger.py"), control]
        done = subprocess.run(program, cwd=tmp_path, env=isolated(tmp_path), capture_output=True, text=True, timeout=MINUTE)
    version = roamcast(installed, "--version").stdout.split()[1]
    assert done.stdout == f"{version} 31 payload False\n", done.stderr
