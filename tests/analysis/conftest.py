"""One Spark for all tests of the analysis: to start it takes longer than most of them."""
from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    from analysis.session import context
    return context()


@pytest.fixture(scope="session")
def study(spark):
    """study(path) -> the Study of a run directory."""
    from analysis import run as runs
    from analysis.study import study as analyse
    return lambda path: analyse(spark, runs.read(path))
