"""The duplicate windows against numbers far ahead, which anyone who passes events on can forge."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.routing.duplicates import WINDOW, SeenEvents


@pytest.mark.parametrize("ahead", [WINDOW, 5000, 3 * WINDOW, 2**31, 2**32 - 1 - 200])
def test_a_forged_sequence_number_silences_nobody(ahead):
    """Whoever passes on events of a source may forge one far ahead; the source's own go on arriving, once."""
    seen = SeenEvents()
    assert all(seen.first_time(7, 1, sequence) for sequence in range(1, 201))
    new = [seen.first_time(7, 1, 200 + ahead)]
    for sequence in range(201, 2 * WINDOW):
        new.append(seen.first_time(7, 1, sequence) or sequence == 200 + ahead)
        assert not seen.first_time(7, 1, sequence)
        if sequence % 50 == 0:  # again and again
            seen.first_time(7, 1, min(2**32 - 1, 300_000 * sequence))
    assert all(new)


@given(st.integers(0, 2**32 - 1), st.lists(st.one_of(st.integers(-5000, 5000), st.integers(1, 2**20)), max_size=60))
def test_nothing_is_new_twice_after_one_jump(jump, steps):
    seen, had, at = SeenEvents(), set(), 10_000
    for number, step in enumerate(steps):
        at = min(2**32 - 1, max(1, at + (step if abs(step) <= 5000 else 1) + (jump if number == 20 else 0)))
        for sequence in (at, at - 3, at, at - 4095, at - 9000):
            if sequence > 0 and seen.first_time(1, 1, sequence):
                assert sequence not in had
                had.add(sequence)
