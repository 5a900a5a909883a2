"""Does many runs on Spark, each a task: the one way in which sweeps, evaluations, batches and several seeds are run.

The tasks are jobs of their own, started from threads here, so that a result is kept as soon as its run ends, and a run that
takes its process with it is one failed run. Results come back through Spark: workers on other machines need the code and the
traces under the same path, and no common folder.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from analysis.errors import AnalysisError

if TYPE_CHECKING:
    from pyspark import SparkContext

Given = dict[str, Any]
Result = dict[str, Any]
AHEAD = 2  # jobs for each place of the embedded Spark: the next one is there when a run ends
MOST = 64  # jobs at once on another master, which knows its places
DIED = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed")  # as Spark says it


def work(run: Callable[[Given], Result], todo: Sequence[Given], ended: Callable[[Given, Result], None],
         at_once: int | None = None, master: str | None = None) -> None:
    """Do all runs; `ended(given, result)` hears of each when it ends, in this thread, in any order.

    `run` must be a function of a module, and raise nothing. A process that dies leaves {"failed": why}. `at_once`: runs, the
    machine's processors unless given. Raises AnalysisError when Spark cannot go on, and lets through what `ended` raises and a
    KeyboardInterrupt: runs that go on are given up.
    """
    if not todo:
        return
    from analysis import session

    # a Spark that runs in this process already is of others, too, and stays
    embedded = at_once and master is None and not session.runs()
    context = session.context(f"local[{at_once}]" if embedded else master)
    local = str(context.master).startswith("local") and (embedded or not at_once)
    pool = ThreadPoolExecutor(min(len(todo), AHEAD * context.defaultParallelism if local else at_once or MOST))
    waiting: dict[Future[Result], Given] = {}
    try:
        waiting.update((pool.submit(_one, context, run, given), given) for given in todo)
        for future in as_completed(waiting):
            ended(waiting.pop(future), future.result())
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        context.cancelAllJobs()
        raise
    finally:
        pool.shutdown()


def _one(context: SparkContext, run: Callable[[Given], Result], given: Given) -> Result:
    try:
        [result] = context.parallelize([given], 1).map(run).collect()
    except Exception as error:
        told = [line.strip() for line in str(error).splitlines() if line.strip()]
        if any(sign in str(error) for sign in DIED):
            return {"parameters": given, "failed": "the process died: it was killed, or the machine ran out of memory"}
        what = next((line for line in reversed(told) if "Error" in line and not line.startswith("at ")), (told or [type(error).__name__])[0])
        raise AnalysisError(f"Spark cannot do the runs: {what[:300]}") from error
    return result

