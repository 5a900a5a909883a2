"""Makes `.venv` from `requirements.lock` on a machine that has Python 3.11 and little else.

Called by the launcher `roamcast` when the environment is missing, was made from another lock
file, or lacks Java. The environment is built next to its place and renamed into it, with a copy of
the lock file inside, so `.venv` is always complete. One set-up runs at a time. Standard
library only; every failure is one sentence.
"""
from __future__ import annotations

import contextlib
import fcntl
import filecmp
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from cli import debian, java

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
PART = ROOT / ".venv.part"
OLD = ROOT / ".venv.old"
GUARD = ROOT / ".venv.lock"
LOG = ROOT / ".venv.log"  # what a failed step printed
SPACE = 4 * 2**30  # bytes free that a set-up needs while it builds pyspark (3.2 measured); 1.3 stay in use
SOURCE_ONLY = "pyspark"  # published without a wheel; built here, with the lock's setuptools
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CERTIFICATE_SETTINGS = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")  # besides pip's `cert`
ASTRAY = ("target", "prefix", "root")  # of pip's configuration: would lead packages out of the environment
PIP_FAULTS = (  # a sign in pip's output, what it means
    (r"No space left|Errno 28", "the disk is full; free some space and start again"),
    (r"CERTIFICATE_VERIFY_FAILED|SSLError|TLS CA certificate bundle",
     "this machine does not trust the package index's certificate; install ca-certificates, or set PIP_CERT to your own"),
    (r"DO NOT MATCH THE HASHES", "a package differs from the one that requirements.lock names, so it was not installed; find out who changed it"),
    (r"NewConnectionError|Name or service not known|name resolution|ConnectTimeout|Read timed out|"
     r"Network is unreachable|Connection refused|ProxyError|Connection aborted",
     "pip cannot reach the package index; check the network, or pip's settings for an index or a proxy"),
    (r"No matching distribution",
     f"a package of requirements.lock has no build for this machine ({os.uname().machine}, "
     f"Python {sys.version_info[0]}.{sys.version_info[1]}); use x86_64 or aarch64"),
)


class Failed(Exception):
    """Why the set-up stopped and what to do, in one sentence."""


def main(wanted: str) -> int:
    """Set up what the launcher lacks: `environment`, or only `java`. Returns the exit code, 0 if the launcher may go on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _guard():
            started = time.monotonic()
            if new := not _whole():
                _make_environment()
            try:
                java.ensure(VENV / "java", _say)
                java.keep_classes(VENV, ROOT)
            except debian.Unavailable as error:
                _say(f"Java is missing, so analyses will not run: {error}.")
            if new:
                _say(f"set up in {time.monotonic() - started:.0f} s.")
    except (Failed, debian.Unavailable) as error:
        _say(f"set-up failed: {error}.")
        return 1
    except KeyboardInterrupt:
        _say("set-up was stopped; the next start begins again.")
        return 130
    except OSError as error:
        _say(f"set-up failed: {_reason(error)}.")
        return 1
    return 0


def _say(text: str) -> None:
    print(f"roamcast: {text}", file=sys.stderr, flush=True)


def _reason(error: OSError) -> str:
    """An operating system's error, said for people."""
    if error.errno == 28:
        return "the disk is full; free some space and start again"
    if error.errno in (1, 13, 30):
        return (f"cannot write {error.filename or ROOT} ({error.strerror}); "
                f"copy the checkout to a folder of your own and start there")
    return f"{error.filename or ROOT}: {error.strerror or error}"


class _guard:
    """Only one set-up at a time; children inherit the lock, so one left over by a kill still holds it."""

    def __enter__(self) -> None:
        self._file = open(GUARD, "w")
        os.set_inheritable(self._file.fileno(), True)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another set-up of this checkout is running; waiting for it.")
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *failure: object) -> None:
        self._file.close()


def _whole() -> bool:
    """Whether `.venv` is there, works and was made from this lock file."""
    mark = VENV / LOCK.name
    return (os.access(VENV / "bin/python", os.X_OK) and mark.is_file()
            and filecmp.cmp(mark, LOCK, shallow=False))


def _make_environment() -> None:
    if VENV.exists() and not (VENV / LOCK.name).is_file():
        raise Failed(f"{VENV} was not made by this program; move it away and start again")
    for leftover in (PART, OLD):
        shutil.rmtree(leftover, ignore_errors=True)
    free = shutil.disk_usage(ROOT).free
    if free < SPACE:
        raise Failed(f"{ROOT} has {free / 2**30:.1f} GiB free, but set-up needs {SPACE / 2**30:.0f} GiB; free some space and start again")
    _say(f"setting up {VENV} from {LOCK.name}; this happens once and takes a few minutes.")
    try:
        _fill(PART)
        if VENV.exists():
            VENV.rename(OLD)
        PART.rename(VENV)
    finally:
        for leftover in (PART, OLD):
            shutil.rmtree(leftover, ignore_errors=True)


def _fill(venv: Path) -> None:
    """A complete environment at `venv`, made to stand at VENV; the copy of the lock file comes last."""
    if importlib.util.find_spec("venv") is None:
        raise Failed(f"{sys.executable} lacks its module venv; on Debian, as root: apt-get install python3-venv")
    real = os.path.realpath(sys.executable)  # not a link that a later Python takes over
    _run("an empty environment", [real, "-I", "-m", "venv", "--without-pip", str(venv)], dict(os.environ))
    with tempfile.TemporaryDirectory(prefix="setup-", dir=venv) as scratch:
        pip = _pip(venv, Path(scratch))
        environment = _pip_environment(pip, Path(scratch))
        options = ["install", "--require-hashes", "--no-deps", "--no-cache-dir", "--progress-bar=off",
                   "--only-binary=:all:", f"--no-binary={SOURCE_ONLY}", "--use-pep517", "--no-build-isolation"]
        builder = Path(scratch, "setuptools.txt")
        builder.write_text(_entry("setuptools"))
        _run("the builder", [*pip, *options, "-r", str(builder)], environment)
        _run("Python packages", [*pip, *options, "-r", str(LOCK)], environment)
    for script in (venv / "bin").iterdir():
        if script.is_file() and not script.is_symlink() and str(venv).encode() in (text := script.read_bytes()):
            script.write_bytes(text.replace(str(venv).encode(), str(VENV).encode()))
    shutil.copyfile(LOCK, venv / LOCK.name)


def _entry(name: str) -> str:
    """One package of the lock file, with its hashes."""
    found = re.search(rf"^{name}==(?:.*\\\n)*.*", LOCK.read_text(), re.MULTILINE)
    if found is None:
        raise Failed(f"{LOCK} has no entry for {name}; create it again as its first lines say")
    return found.group() + "\n"


def _pip(venv: Path, scratch: Path) -> list[str]:
    """The command that runs a pip on the environment at `venv`; fetched from Debian where there is none."""
    python = str(venv / "bin/python")
    folders = [Path("/usr/share/python-wheels")]
    if ensurepip := importlib.util.find_spec("ensurepip"):
        folders += [Path(folder, "_bundled") for folder in ensurepip.submodule_search_locations or []]
    for folder in folders:
        for wheel in sorted(folder.glob("pip-*.whl")):
            return [python, f"{wheel}/pip"]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--python", python]
    if not debian.present():
        raise Failed(f"{sys.executable} has no pip; install it (python3-pip on many systems) and start again")
    _say("downloading pip from Debian.")
    debian.fetch(["python3-pip-whl"], scratch / "pip")
    for wheel in (scratch / "pip").rglob("pip-*.whl"):
        return [python, f"{wheel}/pip"]
    raise Failed("Debian's package python3-pip-whl contains no pip; as root: apt-get install python3-pip")


def _pip_environment(pip: list[str], scratch: Path) -> dict[str, str]:
    """pip's surroundings: the user's own settings, less what would lead it out of the environment."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_CONSTRAINT")}
    builds = scratch / "tmp"  # a small /tmp in memory would not hold what is built
    builds.mkdir()
    environment.update(TMPDIR=str(builds), PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1",
                       PIP_ROOT_USER_ACTION="ignore", PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", LC_ALL="C.UTF-8")
    configured = _configured(pip, environment)
    for key in ASTRAY:
        if key in configured:
            raise Failed(f"pip's configuration sets {key}, which would install packages outside {VENV.name}; remove it "
                         f"(pip config debug shows where), or start once with PIP_CONFIG_FILE={os.devnull}")
    if (not CERTIFICATES.exists() and debian.present() and "cert" not in configured
            and not any(environment.get(name) for name in CERTIFICATE_SETTINGS)):
        _say("downloading certificates of public authorities from Debian.")
        try:
            debian.fetch(["ca-certificates"], scratch / "certificates")
        except debian.Unavailable as error:  # an index of one's own may need none
            _say(f"{error}; continuing without it.")
            return environment
        bundle = scratch / "certificates.pem"
        with bundle.open("wb") as out:
            for one in sorted((scratch / "certificates/usr/share/ca-certificates").rglob("*.crt")):
                out.write(one.read_bytes() + b"\n")
        environment["PIP_CERT"] = str(bundle)
    return environment


def _configured(pip: list[str], environment: dict[str, str]) -> set[str]:
    """The keys that pip's configuration sets for an installation, by pip's own word; none where it cannot be read,
    of which the installation then complains."""
    told = subprocess.run([*pip, "config", "list"], env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, errors="replace")
    found = re.findall(r"^(?:global|install|:env:)\.([\w-]+)=(.*)$", told.stdout, re.MULTILINE)
    return {key for key, value in found if value.strip("'\"")}


def _run(title: str, command: list[str], environment: dict[str, str]) -> None:
    """Run one step, with its state shown on a terminal. Raises Failed with the fault in plain words."""
    output: list[str] = []
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", close_fds=False)
    assert process.stdout is not None
    try:
        with _Ticker(title) as ticker:
            for line in process.stdout:
                output.append(line.strip())
                ticker.state = line.strip()
        process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode:
        text = "\n".join(output)
        with contextlib.suppress(OSError):  # the disk may be full
            LOG.write_text(text + "\n")
        for sign, meaning in PIP_FAULTS:
            if re.search(sign, text):
                raise Failed(f"{meaning} (pip's output is in {LOG})")
        said = [line for line in output if line.startswith(("ERROR", "error"))] or output[-1:] or ["no output"]
        raise Failed(f"{title}: {said[-1]} (the output is in {LOG})")


class _Ticker:
    """One line on a terminal that tells what is going on and for how long; nothing elsewhere."""

    def __init__(self, title: str) -> None:
        self.state = title
        self._title = title
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> _Ticker:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        started = time.monotonic()
        while not self._done.wait(0.5):
            state = self.state if len(self.state) < 60 else self.state[:57] + "..."
            sys.stderr.write(f"\r\x1b[K  {self._title}, {time.monotonic() - started:.0f} s: {state}")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
