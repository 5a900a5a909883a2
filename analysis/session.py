"""The Spark that the analysis runs on: embedded and quiet by default, any master on request.

Runs are small beside what Spark is built for, so the embedded one is tuned for short jobs: no web page, a compiler
that starts fast. Nothing of it listens beyond loopback.
"""
from __future__ import annotations

import atexit
import locale
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from analysis import machine
from analysis.errors import AnalysisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED = "local[*]"
CLASSES = "java.jsa"  # in the environment: classes that Java need not look for again, see cli/java.py
_STARTING, _LOADING = threading.Lock(), threading.Lock()  # one Spark at a time
_loaded: set[str] = set()  # applications whose workers have been told to load what they need
# as SparkContext reads them (its regular expressions, and the schemes of its cluster managers)
_MASTER = re.compile(r"local(\[([0-9]+|\*)(, *[0-9]+)?\])?|local-cluster\[ *[0-9]+ *, *[0-9]+ *, *[0-9]+ *\]|yarn"
                     r"|spark://[^\s/:,]+:[0-9]+(,[^\s/:,]+:[0-9]+)*|k8s://\S+")

_PATIENCE = 5.0  # s for a master to take a connection; Spark itself would be silent for a minute or two

_COMMON = {
    "spark.app.name": "roamcast",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # for who looks at tables with this session: they are small, and times are s since the run started
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
}

OPTIONS = "spark.driver.extraJavaOptions"
EMBEDDED_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    # few and short jobs: Java's second compiler and more than one thread that collects garbage cost more than they save
    # (alone, the first one would get 48 MB for its code, and queries of many joins fill that)
    OPTIONS: "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:-UsePerfData",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.shuffle.compress": "false",
    "spark.rdd.compress": "false",
}


def check_master(master: str | None) -> None:
    """Whether a master's name has the form of one; whether it is there shows when Spark starts. Raises AnalysisError."""
    if master is not None and not _MASTER.fullmatch(master):
        raise AnalysisError(f"{master!r} is not a Spark master; give spark://HOST:PORT, local[N], yarn or k8s://HOST:PORT, or "
                            "leave out --master for the embedded one")


def session(master: str | None = None) -> SparkSession:
    """The running session, or a new one; as `context`."""
    from pyspark.sql import SparkSession

    context(master)
    return SparkSession.builder.getOrCreate()


def runs() -> bool:
    """Whether a Spark runs in this process."""
    return SparkContext._active_spark_context is not None


def context(master: str | None = None) -> SparkContext:
    """The running Spark, or a new one on `master` (any Spark master URL; embedded when None).

    Raises AnalysisError when no master answers, this machine lacks what Spark needs, or Spark cannot start, with what Java said.
    """
    check_master(master)
    with _STARTING:
        running = SparkContext._active_spark_context
        if running is not None and master in (None, running.master):
            return running
        machine.check()
        _answers(master)
        if running is not None:
            running.stop()
        return _start(master or EMBEDDED)


def begin(master: str | None = None) -> Callable[[], SparkContext]:
    """Start Spark beside what else there is to do; what comes back waits for it, and raises as `context` does."""
    started: Future[SparkContext] = Future()

    def start() -> None:
        try:
            with _LOADING:
                running = context(master)
                if running.applicationId not in _loaded:
                    running.parallelize([0], 1).foreach(_load)
                    _loaded.add(running.applicationId)
            started.set_result(running)
        except BaseException as error:
            started.set_exception(error)

    threading.Thread(target=start, daemon=True).start()
    return started.result


def _load(_: int) -> None:
    """On a worker: what the tasks of an analysis need."""
    from analysis import judge, portion  # noqa: F401


def _start(master: str) -> SparkContext:
    settings = dict(_COMMON)
    if master.startswith("local"):
        settings |= EMBEDDED_SETTINGS
        if (classes := Path(sys.prefix, CLASSES)).is_file():
            settings[OPTIONS] += f" -XX:SharedArchiveFile={classes} -Xlog:disable"  # without a word if it is of another Java
        # it looks for an address of this machine's name before it reads its settings, and the name may have none
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # workers run this Python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in child_environment().items():
        os.environ[name] = value
        if name.startswith("PYTHON"):
            settings[f"spark.executorEnv.{name}"] = value  # of executors that are not this Java's
    conf = SparkConf().setMaster(master).setAll(list(settings.items()))
    said = tempfile.TemporaryFile()  # for Java's chatter, instead of the terminal; it keeps it for its life
    try:
        return SparkContext(conf=conf, gateway=SparkContext._gateway or _java(conf, said))
    except Exception as error:
        raise AnalysisError(_why(master, error, said)) from error


def _java(conf: SparkConf, said: BinaryIO) -> JavaGateway:
    """Start Java. Whoever gives up meanwhile, at Ctrl-C or at the end of the program, takes along what has started so far:
    PySpark forgets the Java that it was starting, which would stay for ever."""
    before, thread = _children(), threading.get_native_id()

    def give_up() -> None:
        for pid in _children(thread) - before:
            os.kill(pid, signal.SIGKILL)

    atexit.register(give_up)  # if this is not the main thread, which may end first
    try:
        return launch_gateway(conf, {"stderr": said})  # type: ignore[no-untyped-call]  # pyspark's own
    except BaseException:
        give_up()
        raise
    finally:
        atexit.unregister(give_up)


def child_environment() -> dict[str, str]:
    """What every Python that we start needs beside our own environment: it finds these rooms wherever it starts, and takes
    no module from the folder it starts in, which may be anybody's run directory."""
    root = str(Path(__file__).resolve().parents[1 + str(__package__).count(".")])  # the checkout, or where `roamcast` is installed
    # an empty part, as a trailing colon leaves it, means the folder it starts in
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != root]
    found = {"PYTHONPATH": os.pathsep.join([root, *paths]), "PYTHONSAFEPATH": "1"}
    if locale.nl_langinfo(locale.CODESET).upper() not in ("UTF-8", "UTF8"):
        found["LC_ALL"] = "C.UTF-8"  # or Java finds no file whose name is not ASCII
    return found


def _answers(master: str | None) -> None:
    """Whether one of a spark:// master's addresses takes a connection; of the other kinds Spark finds out."""
    if master is None or not master.startswith("spark://"):
        return
    refused = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _PATIENCE).close()
            return
        except OSError as error:
            refused.append(f"{address}: {error.strerror or error}")
    raise AnalysisError(f"no Spark master answers at {'; '.join(refused)}; start it, or leave out --master for the embedded one")


def _children(thread: int | None = None) -> set[int]:
    """The processes that a thread has started, this one if none is given."""
    try:
        return set(map(int, Path(f"/proc/self/task/{thread or threading.get_native_id()}/children").read_text().split()))
    except OSError:
        return set()


def _why(master: str, error: Exception, said: BinaryIO) -> str:
    """What went wrong, in a line: the last that Java said when it ended, or what came back from it."""
    if "JAVA_GATEWAY_EXITED" not in str(error):
        told = [line.strip() for line in str(error).splitlines() if line.strip()]
        named = [line.removeprefix(": ") for line in told if line.startswith(": ")]  # as Py4J does
        what = (named or told or [type(error).__name__])[0]
        if "on a stopped SparkContext" in what:  # what is left when nobody has answered for a minute
            what = "no master answers there"
        return f"Spark does not start on {master}: {what}"
    said.seek(0)
    lines = [line.strip() for line in said.read(65536).decode(errors="replace").splitlines()]
    hints = [line for line in lines if line and not line.startswith(("at ", "... "))]  # no calls
    return (f"Spark does not start on {master}: {hints[-1] if hints else 'Java ended'}; Spark 4 needs Java 17 or later "
            "(JAVA_HOME or java on PATH)")
