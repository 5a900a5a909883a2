"""Fixtures that every room's tests share."""
from __future__ import annotations

import shutil

import pytest
from hypothesis import settings

# New examples in every run, the same again with `roamcast test --seed N`, and no failure only because the machine
# was busy.
settings.register_profile("roamcast", deadline=None)
settings.load_profile("roamcast")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that start programs outside Python name them in the marker `needs`; absent ones skip the test."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed (roamcast test says what to type)")
