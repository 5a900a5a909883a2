"""Virtual time: order, timers, bounds."""
from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from emulation.clock import Clock


@given(st.lists(st.floats(0.0, 100.0)))
def test_actions_run_in_order_of_time_and_then_of_asking(times):
    clock, ran = Clock(), []
    for number, time in enumerate(times):
        clock.call_at(time, lambda number=number: ran.append((clock.now(), number)))
    clock.run(100.5)
    assert ran == sorted((time, number) for number, time in enumerate(times))
    assert clock.actions == len(times) and clock.now() == 100.5


def test_what_is_due_at_the_end_waits_for_the_next_run():
    clock, ran = Clock(), []
    clock.call_at(5.0, lambda: ran.append(clock.now()))
    clock.run(5.0)
    assert ran == []
    clock.run(6.0)
    assert ran == [5.0]


def test_what_is_asked_for_in_the_past_runs_now():
    clock, ran = Clock(), []
    clock.call_at(5.0, lambda: clock.call_at(1.0, lambda: ran.append(clock.now())))
    clock.run(10.0)
    assert ran == [5.0]


def test_cancelled_timers_and_those_of_the_dead_do_nothing():
    clock, ran = Clock(), []
    living, dying = SimpleNamespace(alive=True), SimpleNamespace(alive=True)
    clock.timer(living, 1.0, lambda: ran.append("kept"))
    clock.timer(living, 1.0, lambda: ran.append("cancelled")).cancel()
    clock.timer(dying, 2.0, lambda: ran.append("dead"))
    clock.call_at(1.5, lambda: setattr(dying, "alive", False))
    late = clock.timer(living, 3.0, lambda: ran.append("late"))
    clock.run(10.0)
    late.cancel()  # harmless
    assert ran == ["kept", "late"]


def test_cancelled_timers_do_not_pile_up():
    clock, owner = Clock(), SimpleNamespace(alive=True)
    kept = []
    for number in range(50_000):
        timer = clock.timer(owner, 1000.0 + number, lambda number=number: kept.append(number))
        if number % 1000:
            timer.cancel()
    assert len(clock._heap) < 15_000
    clock.run(100_000.0)
    assert kept == list(range(0, 50_000, 1000))


def test_stopping_ends_a_run_between_two_actions():
    clock, ran = Clock(), []

    def act() -> None:
        ran.append(clock.now())
        clock.stopping = len(ran) == 3
        clock.call_at(clock.now() + 1.0, act)

    clock.call_at(0.0, act)
    clock.run(100.0)
    assert ran == [0.0, 1.0, 2.0] and clock.now() == 2.0
