"""The launcher and its set-up, on copies of it, without the network: small wheels made here stand for packages."""
from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import http.server
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

from cli import bootstrap, debian, java
from cli import test as test_command
from cli.main import commands
from node import __version__
from tests.own_mounts import own_mounts

ROOT = Path(__file__).resolve().parents[2]
ECHO = """'Says.'
import argparse
HELP = "says its arguments"
class Arguments(argparse.Namespace): words: list
def add_arguments(parser): parser.add_argument("words", nargs="*")
def run(args): print(args.words)
"""
QUIET = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}


def wheel(folder: Path, name: str, version: str, payload: int = 0) -> str:
    """Make a wheel with one module that says its version; its line for a lock file."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    files = {f"{name}.py": f'VERSION = "{version}"\n'.encode() + b"# filling\n" * payload,
             f"{name}-{version}.dist-info/METADATA":
                 f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
             f"{name}-{version}.dist-info/WHEEL":
                 b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = f"{name}-{version}.dist-info/RECORD"
    lines = [f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},"
             f"{len(data)}" for file, data in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for file, data in files.items():
            archive.writestr(file, data)
    return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def checkout(tmp_path):
    return make_checkout(tmp_path)


def make_checkout(folder: Path) -> Path:
    """A copy of what the launcher needs, with a lock of two packages made here and a Java that fits."""
    root = folder / "a checkout"  # people have folders with blanks
    root.mkdir()
    shutil.copy(ROOT / "roamcast", root)
    for room in ("cli", "node"):
        shutil.copytree(ROOT / room, root / room, ignore=shutil.ignore_patterns("__pycache__"))
    wheels = folder / "wheels"
    wheels.mkdir()
    (root / "requirements.lock").write_text(
        wheel(wheels, "setuptools", "1.0") + wheel(wheels, "traffic", "1.0"))
    (root / "cli/echo.py").write_text(ECHO)
    fake_java(folder / "jvm", "17.0.9")
    return root


@pytest.fixture(scope="module")
def set_up_once(tmp_path_factory):
    """One checkout that has been set up, to copy; and what its first start said."""
    base = tmp_path_factory.mktemp("ready")
    root = make_checkout(base)
    return base, start(root, "echo", "up")


@pytest.fixture
def ready(set_up_once, tmp_path):
    """A checkout that has been set up and then moved."""
    shutil.copytree(set_up_once[0], tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path / "a checkout"


def fake_java(home: Path, version: str, lacks_module: bool = False) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin/java"
    refusal = "case $* in *jdk.incubator*) echo 'module not found' >&2; exit 1;; esac\n" if lacks_module else ""
    program.write_text(f"#!/bin/sh\n{refusal}echo 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


def start(root: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess:
    return subprocess.run([root / "roamcast", *arguments], capture_output=True, text=True, timeout=600,
                          env=surroundings(root, **settings))


def surroundings(root: Path, **settings: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    return {**clean, **QUIET, "PIP_FIND_LINKS": (root.parent / "wheels").as_uri(),
            "JAVA_HOME": str(root.parent / "jvm"), **settings}


def installed(root: Path, module: str) -> str:
    return subprocess.run([root / ".venv/bin/python", "-c", f"import {module}; print({module}.VERSION)"],
                          capture_output=True, text=True, check=True).stdout.strip()


def one_sentence(done: subprocess.CompletedProcess) -> str:
    """The complaint of a failed set-up: its last line, and nothing of a traceback before it."""
    assert done.returncode == 1 and "Traceback" not in done.stderr + done.stdout
    return done.stderr.splitlines()[-1]


def test_first_start_sets_up_and_the_second_only_starts(set_up_once):
    base, first = set_up_once
    checkout = base / "a checkout"
    assert (first.returncode, first.stdout) == (0, "['up']\n"), first.stderr
    assert "setting up" in first.stderr and installed(checkout, "traffic") == "1.0"
    assert (checkout / ".venv/java/bin/java").exists()
    assert {path.name for path in checkout.glob(".venv*")} == {".venv", ".venv.lock"}
    second = start(checkout, "echo", "up")
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")


def logging(folder: Path, *programs: str) -> Path:
    """A folder with these programs alone, each of which writes its name into `folder`/started and becomes the real one."""
    bin = folder / "logging"
    bin.mkdir()
    for name in programs:
        (bin / name).write_text(f"#!/bin/sh\necho {name} >> '{folder}/started'\nexec {shutil.which(name)} \"$@\"\n")
        (bin / name).chmod(0o755)
    return bin


def test_a_second_start_costs_one_comparison(ready, tmp_path):
    """No Python but the command's own, no look for a Java: `cmp` is all that is started, and all that is needed."""
    bin = logging(tmp_path, "cmp", "python3", "java")
    done = start(ready, "echo", PATH=str(bin))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
    assert (tmp_path / "started").read_text() == "cmp\n"


@pytest.mark.parametrize(("words", "says"), [
    ((), "usage: roamcast COMMAND"), (("-h",), "usage: roamcast COMMAND"), (("--help",), "usage: roamcast COMMAND"),
    (("help",), "usage: roamcast COMMAND"), (("--version",), f"roamcast {__version__}\n"), (("-V",), f"roamcast {__version__}\n"),
    *(((name, "--help"), f"usage: roamcast {name}") for name in commands()),
    (("run", "park.toml", "-h"), "usage: roamcast run")])
def test_who_only_asks_waits_for_no_set_up(checkout, words, says):
    """With what a bare Debian has: Python's own library."""
    done = start(checkout, *words)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(says)
    assert not list(checkout.glob(".venv*"))


@pytest.mark.parametrize("word", ["ecko", "--bogus", "../cli/echo", "-"])
def test_what_is_no_command_is_said_without_a_set_up(checkout, word):
    done = start(checkout, word)
    assert done.returncode == 2 and "no such command" in done.stderr and done.stderr.count("\n") == 1
    assert not list(checkout.glob(".venv*"))


def test_help_that_is_meant_for_another_program_is_none(checkout):
    """After `--` all words are a command's own, as with `roamcast exec RUN HOST -- ip --help`."""
    done = start(checkout, "echo", "--", "--help")
    assert (done.returncode, done.stdout) == (0, "['--help']\n") and "set up in" in done.stderr


def test_a_changed_lock_installs_again_and_drops_what_is_gone(ready):
    wheels = ready.parent / "wheels"
    (ready / "requirements.lock").write_text(wheel(wheels, "setuptools", "1.0") + wheel(wheels, "radio", "2.0"))
    again = start(ready, "echo")
    assert "setting up" in again.stderr and again.returncode == 0
    assert installed(ready, "radio") == "2.0"
    with pytest.raises(subprocess.CalledProcessError):
        installed(ready, "traffic")


@pytest.mark.slow  # a set-up of its own
def test_a_failed_set_up_leaves_the_old_environment(ready):
    lock = ready / "requirements.lock"
    lock.write_text(lock.read_text() + "absent==9.9 --hash=sha256:" + "0" * 64 + "\n")
    failed = start(ready, "echo")
    assert "has no build for this machine" in one_sentence(failed)
    assert installed(ready, "traffic") == "1.0" and not (ready / ".venv.part").exists()


@pytest.mark.slow  # a set-up of its own
def test_another_hash_is_refused(checkout):
    lock = checkout / "requirements.lock"
    lock.write_text(re.sub(r"(traffic.*\n.*sha256:)\w{4}", r"\g<1>0000", lock.read_text()))
    assert "differs from the one that requirements.lock names" in one_sentence(start(checkout, "echo"))
    assert not (checkout / ".venv").exists()


def test_no_network_is_one_sentence(checkout):
    closed = "http://127.0.0.1:9/simple"
    failed = start(checkout, "echo", PIP_NO_INDEX="0", PIP_INDEX_URL=closed, PIP_RETRIES="1", PIP_FIND_LINKS="")
    assert "pip cannot reach the package index" in one_sentence(failed)
    assert (checkout / ".venv.log").read_text().strip()


def children(parent: int) -> list[int]:
    """The processes that `parent` started, from /proc (a bare system has no ps)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it just ended
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_a_stopped_set_up_is_never_taken_for_whole(checkout, stop):
    lock = checkout / "requirements.lock"
    lock.write_text(lock.read_text() + wheel(checkout.parent / "wheels", "bulky", "1.0", payload=100_000))
    process = subprocess.Popen([checkout / "roamcast", "echo"], env=surroundings(checkout),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (checkout / ".venv.part/bin").exists():
        assert process.poll() is None
        time.sleep(0.01)
    for pid in children(process.pid):  # the set-up below the shell; pip below that goes on after a kill
        os.kill(pid, stop)
    process.communicate(timeout=600)
    assert process.returncode != 0 and not (checkout / ".venv").exists()
    after = start(checkout, "echo")
    assert after.returncode == 0 and "set up in" in after.stderr
    assert installed(checkout, "bulky") == "1.0"


def test_two_first_starts_at_once_share_one_set_up(checkout):
    both = [subprocess.Popen([checkout / "roamcast", "echo"], env=surroundings(checkout),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=600) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("set up in" in errors for _, errors in outputs) == 1
    assert sum("waiting for it" in errors for _, errors in outputs) == 1


def test_an_environment_of_others_is_left_alone(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv/mine").touch()
    assert "was not made by this program" in one_sentence(start(checkout, "echo"))
    assert (checkout / ".venv/mine").exists()


def test_started_through_a_link_from_elsewhere_with_its_arguments(ready, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "node").mkdir(parents=True)  # a folder of a room's name must not be taken for the room
    (elsewhere / "roamcast").symlink_to(ready / "roamcast")
    done = subprocess.run(["roamcast", "echo", "two words", "*"], cwd=elsewhere, capture_output=True, text=True,
                          env={**surroundings(ready), "PATH": f"{elsewhere}:{os.environ['PATH']}"})
    assert done.stdout == "['two words', '*']\n", done.stderr


def test_an_old_python_is_named(checkout, tmp_path):
    bin = tmp_path / "bin"
    bin.mkdir()
    for tool in ("cmp", "readlink", "sh"):
        (bin / tool).symlink_to(shutil.which(tool))
    (bin / "python3").write_text("#!/bin/sh\nexit 1\n")
    (bin / "python3").chmod(0o755)
    assert "found no Python 3.11 or later" in one_sentence(start(checkout, "echo", PATH=str(bin)))


def test_a_checkout_that_cannot_be_written(checkout, tmp_path):
    if os.geteuid() == 0:  # root writes everywhere but on a read-only mount
        command = own_mounts('mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$1/roamcast" echo', checkout)
    else:
        checkout.chmod(0o555)
        command = [checkout / "roamcast", "echo"]
    done = subprocess.run(command, env=surroundings(checkout, PYTHONPATH=str(ROOT)), capture_output=True, text=True)
    assert "copy the checkout to a folder of your own" in one_sentence(done)


# ---- pip's own configuration


NO_CERTIFICATES = """
bundle=/etc/ssl/certs/ca-certificates.crt
if [ -e $bundle ]; then mount -t tmpfs none /etc/ssl/certs; fi
[ ! -e $bundle ] && exec "$1/roamcast" echo
"""


def authority(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate authority that nobody knows, for 127.0.0.1; its certificate, and what serves in its name."""
    key, certificate = folder / "key.pem", folder / "ca.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


@contextlib.contextmanager
def index(wheels: Path, context: ssl.SSLContext):
    """A package index over https; its address."""
    for wheel in wheels.glob("*.whl"):
        page = wheels / "simple" / wheel.name.partition("-")[0] / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f'<a href="/{wheel.name}">{wheel.name}</a>')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=wheels)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}/simple"
        finally:
            server.shutdown()


@pytest.mark.slow  # a set-up of its own
@pytest.mark.needs("openssl")
@pytest.mark.parametrize("section", ["global", "install"])
def test_an_authority_of_pips_own_configuration_holds_where_the_system_has_none(checkout, tmp_path, section):
    certificate, context = authority(tmp_path)
    (tmp_path / "pip.conf").write_text(f"[{section}]\ncert = {certificate}\n")
    with index(tmp_path / "wheels", context) as address:
        settings = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PIP_NO_INDEX": "0", "PIP_INDEX_URL": address,
                    "PIP_FIND_LINKS": "", "PYTHONPATH": str(ROOT)}
        environment = {name: value for name, value in surroundings(checkout, **settings).items()
                       if name not in bootstrap.CERTIFICATE_SETTINGS}
        done = subprocess.run(own_mounts(NO_CERTIFICATES, checkout), env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert "certificates" not in done.stderr and installed(checkout, "traffic") == "1.0"


@pytest.mark.parametrize("key", bootstrap.ASTRAY)
def test_what_would_lead_packages_out_of_the_environment_is_refused(checkout, tmp_path, key):
    (tmp_path / "pip.conf").write_text(f"[install]\n{key} = {tmp_path}/elsewhere\n")
    said = one_sentence(start(checkout, "echo", PIP_CONFIG_FILE=str(tmp_path / "pip.conf")))
    assert f"pip's configuration sets {key}, which would install packages outside .venv; remove it" in said
    assert not (tmp_path / "elsewhere").exists() and not (checkout / ".venv").exists()


@pytest.mark.slow  # a set-up of its own
def test_settings_for_other_environments_do_not_stop_it(checkout, tmp_path):
    (tmp_path / "pip.conf").write_text("[install]\nuser = true\n[global]\nrequire-virtualenv = true\n")
    done = start(checkout, "echo", PIP_CONFIG_FILE=str(tmp_path / "pip.conf"))
    assert done.returncode == 0 and installed(checkout, "traffic") == "1.0", done.stderr


def test_a_full_disk_is_said_before_anything_is_fetched(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    for name in ("VENV", "PART", "OLD", "GUARD"):
        monkeypatch.setattr(bootstrap, name, tmp_path / getattr(bootstrap, name).name)
    monkeypatch.setattr(bootstrap, "SPACE", 2**60)
    assert bootstrap.main("environment") == 1
    assert re.search(r"has [\d.]+ GiB free, but set-up needs", capsys.readouterr().err)


# ---- Java


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "JVMS", tmp_path / "jvms")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_the_java_that_fits_is_found(no_java, monkeypatch, tmp_path):
    fake_java(tmp_path / "jvms/a-old", "11.0.2")
    fake_java(tmp_path / "jvms/b-partial", "21.0.1", lacks_module=True)
    assert java.find() is None
    fit = fake_java(tmp_path / "jvms/c-fit", "21.0.1")
    assert java.find() == fit
    named = fake_java(tmp_path / "named", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(named))
    assert java.find() == named
    java.ensure(tmp_path / "link")
    assert (tmp_path / "link").resolve() == named


@pytest.mark.parametrize("fails", [False, True])
def test_the_classes_of_java_are_kept_whole_or_not_at_all(tmp_path, fails):
    program = tmp_path / "bin/python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$JAVA_HOME $PYTHONPATH" > "$4"\nexit {int(fails)}\n')
    program.chmod(0o755)
    (tmp_path / java.CLASSES).write_text("of another Java")
    java.keep_classes(tmp_path, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", *([] if fails else [java.CLASSES])]
    if not fails:
        assert (tmp_path / java.CLASSES).read_text() == f"{tmp_path / 'java'} {tmp_path}\n"


def test_without_java_the_cure_is_said(no_java, tmp_path):
    with pytest.raises(debian.Unavailable, match="set JAVA_HOME"):
        java.ensure(tmp_path / "link")


def test_a_missing_java_stops_only_analyses(ready):
    (ready / "cli/java.py").write_text((ready / "cli/java.py").read_text().replace(
        "OLDEST = 17", "OLDEST = 1700").replace('"/usr/lib/jvm"', '"/nowhere"'))
    (ready / "cli/debian.py").write_text((ready / "cli/debian.py").read_text().replace(
        '("apt-get", "dpkg-deb")', '("no-apt-get",)'))
    (ready / ".venv/java").unlink()
    done = start(ready, "echo")
    assert done.returncode == 0 and "set JAVA_HOME" in done.stderr
    assert start(ready, "--help").stderr == ""  # needs none, so nothing is said again


# ---- Debian's packages


def fake_apt(monkeypatch, tmp_path, says: str) -> None:
    program = tmp_path / "apt/apt-get"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{says}'\nexit 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize(("says", "means"), [
    ("W: Failed to fetch x  Temporary failure resolving x", "apt cannot reach its server"),
    ("E: Unable to locate package thing", "apt has no package thing"),
    ("E: You do not have enough free space in x", "the disk is full"),
    ("E: dpkg was interrupted", "E: dpkg was interrupted"),
])
def test_what_apt_says_is_told_in_a_sentence(monkeypatch, tmp_path, says, means):
    fake_apt(monkeypatch, tmp_path, says)
    with pytest.raises(debian.Unavailable, match=means):
        debian.fetch(["thing"], tmp_path / "into")


def test_unpacked_links_point_inside(tmp_path):
    (tmp_path / "etc/java").mkdir(parents=True)
    (tmp_path / "etc/java/security").write_text("here")
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/conf").symlink_to("/etc/java")
    (tmp_path / "usr/lib/outside").symlink_to("/dev/null")
    debian._turn_links(tmp_path)
    assert (tmp_path / "usr/lib/conf/security").read_text() == "here"
    assert os.readlink(tmp_path / "usr/lib/outside") == "/dev/null"


# ---- the lock file


def test_the_lock_file_is_complete():
    lock = (ROOT / "requirements.lock").read_text()
    pinned = {name.lower(): block for name, block in re.findall(r"^([\w.-]+)==((?:.*\\\n)*.*)", lock, re.MULTILINE)}
    assert all("--hash=sha256:" in block for block in pinned.values()) and "://" not in lock
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = sum(project["optional-dependencies"].values(), project["dependencies"])
    assert {re.split(r"[<>=\[;]", one)[0] for one in asked} <= set(pinned)
    assert {re.split(r"[<>=\[;]", one)[0] for one in project["dependencies"]} == {"trio", "cbor2"}
    assert sys.version_info >= (3, 11)


def test_a_node_alone_names_what_other_commands_need(tmp_path):
    """A Pi has trio and cbor2 only: a module that is not there stands for that environment."""
    (tmp_path / "pydantic.py").write_text("raise ModuleNotFoundError(\"No module named 'pydantic'\", name='pydantic')\n")
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "check", ROOT / "topologies/park-30.toml"],
                          env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}, capture_output=True, text=True)
    assert done.returncode == 2 and "needs the Python package pydantic" in done.stderr
    assert done.stderr.count("\n") == 1


# ---- roamcast test


@pytest.fixture
def small_suite(tmp_path):
    """A checkout whose suite is four tests: one passes, one fails, one is slow, one needs what nobody has."""
    shutil.copytree(ROOT / "cli", tmp_path / "cli", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests/test_small.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "@pytest.mark.slow\ndef test_long(): pass\n"
        "@pytest.mark.needs('no-such-program')\ndef test_without(): assert False\n")
    return tmp_path


def run_suite(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """As a user without apt would: nothing is on the PATH."""
    return subprocess.run([sys.executable, "-P", "-m", "cli", "test", *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(root), "PATH": "/nowhere"}, timeout=600)


def test_the_suite_prints_its_seed_and_closes_with_the_count(small_suite):
    done = run_suite(small_suite, "--seed", "7")
    lines = done.stdout.strip().splitlines()
    assert done.returncode == 1 and "seed 7" in lines[0]
    assert re.search(r"^1 failed, 1 passed, 1 skipped\b.* in ", lines[-1])
    assert "FAILED tests/test_small.py::test_bad" in done.stdout
    assert lines[-2] == "not run here: 2 tests: 1 (no-such-program is not installed); 1 (slow: roamcast test --slow runs them too)"
    assert re.search(r"as root: apt-get install .*chromium chromium-driver .*tshark\n", done.stderr)


@pytest.mark.parametrize("processes", ["0", "2"])
def test_what_does_not_run_is_told_with_its_reason_in_one_line(small_suite, processes):
    (small_suite / "tests/test_small.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "@pytest.mark.skipif(True, reason='needs root')\ndef test_skipped(number): pass\n"
        "def test_gives_up(): pytest.skip('needs\\n namespaces')\n"
        "@pytest.mark.hwsim\ndef test_radio(): pass\n")
    (small_suite / "tests/test_whole.py").write_text("import pytest\npytest.skip('no board', allow_module_level=True)\n")
    done = run_suite(small_suite, "-n", processes)
    told = [line for line in done.stdout.splitlines() if line.startswith("not run here: ")]
    assert len(told) == 1 and sorted(told[0].split("; ")) == [
        "1 (hwsim: roamcast test --hwsim runs them)", "1 (needs namespaces)", "1 (no board)",
        "not run here: 7 tests: 4 (needs root)"]


def test_a_failure_in_real_time_counts_unless_the_machine_was_busy(small_suite):
    """What measures that is kept from running, as a busy machine would; other failures count on any machine."""
    conftest = small_suite / "tests/conftest.py"
    conftest.write_text(conftest.read_text().replace("BUSY = 0.1 ", "BUSY = 2.0 "))
    (small_suite / "tests/test_small.py").write_text(
        "import os, pytest, signal, time\n"
        "def busy():\n"
        "    [pulse] = open(f'/proc/self/task/{os.getpid()}/children').read().split()\n"
        "    time.sleep(1)\n"
        "    os.kill(int(pulse), signal.SIGSTOP)\n"
        "    time.sleep(2.5)\n"
        "    os.kill(int(pulse), signal.SIGCONT)\n"
        "@pytest.mark.real_time\ndef test_late():\n    busy()\n    assert False\n"
        "@pytest.mark.real_time\ndef test_late_and_good(): busy()\n"
        "@pytest.mark.real_time\ndef test_wrong(): assert False\n"
        "@pytest.mark.real_time\ndef test_broken():\n    busy()\n    raise KeyError\n")
    done = run_suite(small_suite, "-n", "0")
    assert sorted(re.findall(r"^FAILED tests/test_small.py::(\w+)", done.stdout, re.MULTILINE)) == ["test_broken", "test_wrong"]
    assert re.search(r"^2 failed, 1 passed, 1 skipped\b", done.stdout.strip().splitlines()[-1])
    assert re.search(r"^not run here: 1 tests: 1 \(failed in real time on a busy machine, which let a process wait "
                     r"\d\.\d s: test_late\)$", done.stdout, re.MULTILINE)


def test_a_list_of_cases_that_comes_out_empty_is_a_fault(small_suite):
    (small_suite / "tests/test_small.py").write_text(
        "import pytest\n@pytest.mark.parametrize('case', [])\ndef test_each(case): pass\n")
    done = run_suite(small_suite)
    assert done.returncode != 0 and "Empty parameter set in 'test_each'" in done.stdout


def test_a_seed_repeats_the_order_and_the_examples(small_suite):
    """With as many processes as anybody wants: a seed belongs to all of them."""
    (small_suite / "tests/test_small.py").write_text(
        "from hypothesis import given, settings, strategies as st\n"
        "settings.load_profile('default')  # under CI hypothesis takes the same examples whatever the seed\n"
        "def told(text):\n"
        "    with open('told.txt', 'a') as file: print(text, file=file)\n"
        "@given(st.integers())\ndef test_number(number): told(number)\n"
        "def test_one(): told('one')\ndef test_two(): told('two')\ndef test_three(): told('three')\n")
    ran = []
    for seed, processes in (("7", "0"), ("7", "0"), ("8", "0"), ("7", "2")):
        done = run_suite(small_suite, "--seed", seed, "-n", processes)
        assert done.returncode == 0, done.stdout
        ran.append((small_suite / "told.txt").read_text().splitlines())
        (small_suite / "told.txt").unlink()
    assert len(ran[0]) > 50 and ran[0] == ran[1] and ran[0] != ran[2]
    assert sorted(ran[3]) == sorted(ran[0]) != sorted(ran[2])


def test_other_arguments_go_to_pytest_and_slow_ones_run_when_asked(small_suite):
    done = run_suite(small_suite, "--slow", "-k", "good or long", "-n0")
    assert done.returncode == 0 and re.search(r"^2 passed\b.* in ", done.stdout.strip().splitlines()[-1])


def test_the_fast_tests_are_some_of_the_suite():
    """They are chosen from it by folders, files and markers, and leave out whatever the suite leaves out."""
    default = re.search(r"-m '(.*?)'", tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"])
    assert test_command.FAST_MARKERS.startswith(default[1] + " and not ")
    assert all(path.startswith("tests/") and (ROOT / path).exists() for path in (*test_command.FAST, *test_command.FAST_WITHOUT))
    assert all(any(path.startswith(room) for room in test_command.FAST) for path in test_command.FAST_WITHOUT)
    assert test_command.fast(["-x"])[-len(test_command.FAST):] == list(test_command.FAST)

def test_a_path_narrows_the_fast_tests(small_suite):
    (small_suite / "tests/test_small.py").write_text(
        "import pytest\nfrom hypothesis import given, strategies as st\n"
        "def test_quick(): pass\n"
        "@pytest.mark.real_time\ndef test_real_time(): assert False\n"
        "@pytest.mark.needs('python3')\ndef test_program(): assert False\n"
        "@pytest.mark.slow\ndef test_slow(): assert False\n"
        "@given(st.integers())\ndef test_random(number): assert False\n")
    done = run_suite(small_suite, "--fast", "tests/test_small.py", "-n", "0")
    assert done.returncode == 0 and re.search(r"^1 passed, 4 deselected\b", done.stdout.strip().splitlines()[-1]), done.stdout
    assert "apt-get" not in done.stderr
