"""What every room's tests share: their examples, what they need besides Python, and a word for those that do not run."""
from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import settings

# New examples in every run, the same again with `roamcast test --seed N`, and no failure only because the machine
# was busy.
settings.register_profile("roamcast", deadline=None)
settings.load_profile("roamcast")

ON_REQUEST = {"slow": "roamcast test --slow runs them too", "hwsim": "roamcast test --hwsim runs them"}  # by their marker
LEFT_OUT = pytest.StashKey[Counter]()  # of these, how many were not asked for


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = Counter()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a script's background, and programs of tests would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that start programs outside Python name them in the marker `needs`; absent ones skip the test."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")


BUSY = 0.1  # s that a process of its own waits for a processor: then what runs in real time is about the machine
PULSE = """
import select, sys, time
print("begun", flush=True)
worst, asleep, told = 0.0, 0.02, []
while not told:
    began = time.monotonic()
    told = select.select([sys.stdin], [], [], asleep)[0]
    worst = max(worst, time.monotonic() - began - asleep)
print(worst)
"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test in real time (its marker) fails on a machine that has time for it; on another it is skipped, with the reason.

    How busy the machine is, a process of its own tells, which knows nothing of what is tested.
    """
    if item.get_closest_marker("real_time") is None:
        return (yield)
    with _pulse() as late:
        try:
            return (yield)
        except (AssertionError, TimeoutError, subprocess.TimeoutExpired):
            if (waited := late()) > BUSY:
                pytest.skip(f"failed in real time on a busy machine, which let a process wait {waited:.1f} s: {item.name}")
            raise


@contextmanager
def _pulse():
    """Hands out what tells how long (s) a process that sleeps and wakes waited for a processor at worst."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", PULSE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        yield lambda: float(process.communicate()[0])
    finally:
        process.kill()
        process.communicate()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        for name in ON_REQUEST:
            if item.get_closest_marker(name):
                item.config.stash[LEFT_OUT][name] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # this is one of several processes, each of which has seen all tests
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    if told := getattr(node, "workeroutput", {}).get("left_out"):
        node.config.stash[LEFT_OUT] |= Counter(told)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    """One line after all others, for the tests that do not run here, with the reasons; nothing where all do."""
    yield
    why = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    why.update({f"{name}: {ON_REQUEST[name]}": count for name, count in config.stash[LEFT_OUT].items()})
    if why:
        told = "; ".join(f"{count} ({reason})" for reason, count in why.most_common())
        terminalreporter.write_line(f"not run here: {why.total()} tests: {told}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped, as it says."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return " ".join(text.removeprefix("Skipped: ").split())
