"""`pip install roamcast` on a host in the field: the node with two libraries, and a word for what is not there.

A wheel of this checkout is built and installed into a fresh environment, beside wheels made of the libraries that are
installed here: nothing is asked of an index, unless this environment is too old to build a wheel by itself.
"""
from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from cli import bootstrap
from cli.main import commands
from tests.test_architecture import ROOT, committed

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


def build(folder: Path) -> Path:
    """The wheel of this checkout."""
    copy = folder / "checkout"
    for path in committed():
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    wheels = folder / "wheels"
    wheels.mkdir()
    if int(metadata.version("setuptools").partition(".")[0]) >= 71:  # from there on it makes wheels by itself
        program = f"from setuptools import build_meta; build_meta.build_wheel({str(wheels)!r})"
        command = [sys.executable, "-c", program]
    else:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), "."]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(wheels.glob("roamcast-*.whl"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The `bin` of an environment with `pip install roamcast`."""
    folder = tmp_path_factory.mktemp("install")
    wheel = build(folder)
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


def roamcast(installed: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([installed / "roamcast", *arguments], cwd=installed.parent.parent, env=isolated(installed.parent),
                          capture_output=True, text=True, timeout=MINUTE)


def test_it_brings_two_libraries_and_what_they_need(installed):
    site = next(installed.parent.glob("lib/python3*/site-packages"))
    names = {path.name.split("-")[0].lower() for path in site.glob("*.dist-info")}
    assert names == {name.replace("-", "_") for name in closure("trio", "cbor2")} | {"roamcast"}
    asked = next(site.glob("roamcast-*.dist-info")).joinpath("METADATA").read_text()
    plain = [line for line in re.findall(r"^Requires-Dist: (.*)$", asked, re.MULTILINE) if "extra ==" not in line]
    assert {re.split(r"[<>=]", line)[0] for line in plain} == {"trio", "cbor2"}


def test_what_needs_more_names_the_extra_in_one_sentence(installed):
    (installed.parent.parent / "walk").mkdir(exist_ok=True)
    arguments = {"run": ["chain-5"], "check": ["chain-5"], "analyse": ["walk"], "compare": ["walk", "walk"],
                 "dissect": ["walk/1.pcap"], "collect": ["walk", "--out", "run"], "overlay": ["publish=50"],
                 "reproduce": ["dynamic-topology", "--out", "run"]}
    for command, words in arguments.items():
        assert command in commands()
        done = roamcast(installed, command, *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (command, done.stderr)
        assert "pip install '.[lab]'" in done.stderr, (command, done.stderr)
    shown = roamcast(installed, "--help")
    assert shown.returncode == 0 and all(f"  {command}" in shown.stdout for command in WITHOUT | arguments.keys())


def test_a_node_lives_there_and_serves_its_programs(installed, tmp_path):
    control = tmp_path / "c"
    config = tmp_path / "node.toml"
    config.write_text(f'id = 1\ninterface = "lo"\nbroadcast = "127.255.255.255"\nport = {40000 + os.getpid() % 20000}\n'
                      f'control = "{control}"\nrecords = "{tmp_path}/1.jsonl"\nstate = "{tmp_path}/state"\ndisk = 10\n')
    unit = roamcast(installed, "node", "--config", str(config), "--unit").stdout
    assert f"ExecStart={installed}/roamcast node --config {config}" in unit
    node = subprocess.Popen([installed / "roamcast", "node", "--config", config], env=isolated(tmp_path), stderr=subprocess.PIPE,
                            text=True)
    try:
        assert select.select([node.stderr], [], [], MINUTE)[0] and "node 1, epoch" in node.stderr.readline()
        sub = subprocess.Popen([installed / "roamcast", "sub", "--control", control, "value > 3"], env=isolated(tmp_path),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "subscribed" in sub.stderr.readline()
        assert roamcast(installed, "pub", "--control", str(control), "value:=4").returncode == 0
        assert '"value": 4' in sub.stdout.readline()
        sub.kill()
        sub.communicate()
    finally:
        node.terminate()
        node.communicate(timeout=MINUTE)
    assert node.returncode == 0 and '"kind":"node_stopped"' in (tmp_path / "1.jsonl").read_text()
