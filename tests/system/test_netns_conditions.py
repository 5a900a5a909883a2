"""The world netns on systems that lack something, as an ordinary user meets them: each is a sentence, and what was
recorded is kept. The conditions are real ones, made with namespaces and limits of the test's own."""
from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emulation.linux import kernel
from emulation.realtime import processes
from tests.system import runs
from tests.system.test_netns import CHAIN, PATIENCE, environment, pytestmark  # noqa: F401 (skips where netns cannot be)

SHORT = CHAIN.replace("duration = 5", "duration = 3").replace("deadline = 2", "deadline = 1")
ROOT_OF_OWN = ["unshare", "--user", "--map-root-user", "--mount"]  # may mount and limit what is its own

user_namespaces = pytest.mark.skipif(  # in a chroot, say, root has none either
    subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode != 0,
    reason="the condition is made in a user namespace, and this system gives none")


def ordinary(limits: dict[str, int]) -> Callable[[], None]:
    """What makes a process one of an ordinary user (id 1000, no capabilities once it has become its program), in a
    user namespace with these limits of /proc/sys/user. Root cannot do with less, and a user can do it, too."""
    def become() -> None:
        user, group = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1")):
            Path("/proc/self", name).write_text(text)
        for name, most in limits.items():
            Path("/proc/sys/user", name).write_text(str(most))
    return become


def run(tmp_path: Path, text: str = SHORT, before: tuple[str, ...] = (), out: Path | None = None, **options) -> subprocess.CompletedProcess:
    """`roamcast run` of a scenario into `out`, tmp_path/run unless given, by the program `before` it."""
    scenario = runs.scenario_file(tmp_path, text)
    return subprocess.run([*before, sys.executable, "-P", "-m", "cli", "run", scenario, "--no-analysis", "--allow-commands", "--out",
                           out or tmp_path / "run"], env=environment(), capture_output=True, text=True, timeout=PATIENCE,
                          check=False, **options)


def covered(path: str) -> tuple[str, ...]:
    """A program that runs another where an empty folder covers this one."""
    return (*ROOT_OF_OWN, "sh", "-c", f'mount -t tmpfs none {path} && exec "$@"', "sh")


def refused(done: subprocess.CompletedProcess, tmp_path: Path) -> str:
    """The one sentence of a run that did not begin and left nothing."""
    assert done.returncode == 2 and done.stdout == "" and not (tmp_path / "run").exists(), done
    [sentence] = [line for line in done.stderr.splitlines() if not line.startswith("roamcast: note: ")]
    return sentence.removeprefix("roamcast: ")


@user_namespaces
def test_an_ordinary_user_needs_user_namespaces_only(tmp_path):
    done = run(tmp_path, preexec_fn=ordinary({}))
    assert done.returncode == 0, done
    assert runs.manifest(tmp_path / "run")["outcome"] == "complete"
    assert {record["node"] for record in runs.of_kind(tmp_path / "run", "neighbor_up")} == {0, 1, 2}


@user_namespaces
def test_no_user_namespaces(tmp_path):
    sentence = refused(run(tmp_path, preexec_fn=ordinary({"max_user_namespaces": 0})), tmp_path)
    assert sentence == ("an ordinary user needs user namespaces for this world, and this system refuses them (none are "
                        "left or allowed); run as root, or use --world sim")


@user_namespaces
def test_root_without_its_rights(tmp_path):
    """As in a container."""
    bare = ("sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --inh-caps=-all '
            '--bounding-set=-all "$@"', "sh")
    sentence = refused(run(tmp_path, before=(*ROOT_OF_OWN, *bare)), tmp_path)
    assert sentence == ("root lacks root's rights here, as in a container, and cannot create user namespaces either (none are left "
                        "or allowed); grant the capability SYS_ADMIN, or use --world sim")


@user_namespaces
def test_no_tun_device(tmp_path):
    sentence = refused(run(tmp_path, before=covered("/dev/net")), tmp_path)
    assert sentence == "/dev/net/tun does not exist; load it as root (modprobe tun), or use --world sim"


@user_namespaces
def test_proc_is_not_mounted(tmp_path):
    sentence = refused(run(tmp_path, before=covered("/proc")), tmp_path)
    assert sentence == "/proc is not mounted; mount it (mount -t proc proc /proc), or use --world sim"


@user_namespaces
def test_more_hosts_than_open_files(tmp_path):
    def few() -> None:
        ordinary({})()
        resource.setrlimit(resource.RLIMIT_NOFILE, (70, 70))

    sentence = refused(run(tmp_path, preexec_fn=few), tmp_path)
    assert sentence == ("3 hosts need 76 open files and this session may have 70, enough for 1 hosts; raise the limit as "
                        "root (ulimit -Hn 76), or use --world sim")


@user_namespaces
def test_more_hosts_than_network_namespaces(tmp_path):
    sentence = refused(run(tmp_path, preexec_fn=ordinary({"max_net_namespaces": 0})), tmp_path)
    assert sentence.startswith("no more network namespaces are allowed; raise the limit as root (sysctl user.max_net")
    done = run(tmp_path, preexec_fn=ordinary({"max_net_namespaces": 2}))  # enough for the first two
    # host 2, or an earlier one where other tests have namespaces of this user just then
    assert done.returncode == 2 and re.search(r"host [012] cannot be created: no more network namespaces are allowed", done.stderr), done.stderr
    assert "Traceback" not in done.stderr and runs.manifest(tmp_path / "run")["outcome"] == "failed"


def test_more_hosts_than_processes():
    """By a process that is nobody, for whom the limit of processes holds."""
    if os.geteuid() != 0:
        pytest.skip("to be somebody who has no processes yet needs root")
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))
            os.setresuid(64_999, 64_999, 64_999)
            for _ in range(5):
                processes.fork(lambda channel: channel.receive())
        except processes.Failed as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        assert answer.read().startswith("cannot start another process (Resource temporarily unavailable); raise")
    os.waitpid(child, 0)


def test_a_command_that_cannot_be_started_or_dies_at_once(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("neither a program nor a script\n")
    broken.chmod(0o755)
    done = run(tmp_path, SHORT + f"""
    [hosts.0]
    command = ["{broken}"]
    [hosts.1]
    command = ["sh", "-c", "kill -9 $$"]
    [hosts.2]
    command = ["sh", "-c", "echo I cannot >&2; exit 3"]
    """)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    because = sorted(runs.manifest(tmp_path / "run")["fidelity"]["invalid_because"])
    assert len(because) == 3 and all(f"- {reason}" in done.stderr for reason in because)
    for host, (reason, why) in enumerate(zip(because, (
            f"{broken}: Exec format error", "sh was killed from outside (signal 9); see programs/1.log",
            "sh ended with exit code 3; see programs/2.log"), strict=True)):
        assert reason.startswith(f"host {host}'s command failed at 0.") and reason.endswith(f" s: {why}")
    assert (tmp_path / "run" / "programs" / "2.log").read_text() == "I cannot\n"
    assert {record["node"] for record in runs.of_kind(tmp_path / "run", "neighbor_up")} == {0, 1, 2}


@user_namespaces
def test_a_disk_that_fills(tmp_path):
    """On a small file system; what was recorded is copied off it and analysed."""
    import analysis

    small, kept = tmp_path / "run", tmp_path / "kept"
    small.mkdir()
    on_it = ("sh", "-c", f'mount -t tmpfs -o size=128k none {small} && "$@"; code=$?; '
             f'cp -r {small}/run {kept}; exit $code', "sh")
    done = run(tmp_path, SHORT.replace("duration = 3", "duration = 120"), before=(*ROOT_OF_OWN, *on_it), out=small / "run")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done
    assert "The disk is full (" in done.stdout and f"what was written is kept in {small}/run" in done.stdout
    manifest = runs.manifest(kept)
    assert manifest["outcome"] == "disk_full" and 1 < manifest["ended"] < 120
    assert {record["node"] for record in runs.of_kind(kept, "neighbor_up")} == {0, 1, 2}
    assert f"the run ended after {manifest['ended']:g} s of 120 s; later events do not count" in analysis.analyse(kept).notes
