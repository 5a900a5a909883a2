"""What the medium tells of frames: of each try who got it and why others did not, and once of each that it is done with."""
from __future__ import annotations

import json
from collections import Counter

import pytest

from emulation.realtime.decisions import Decisions
from tests.emulation.air import Air, line

FRAMES = 400


@pytest.mark.parametrize("radio", [{}, {"loss": 0.3, "retries": 2}, {"links": [(1, 2, 1.0)], "loss": 0.1}])
def test_every_try_is_accounted_for_and_every_frame_done_once(tmp_path, radio):
    decisions, done = Decisions(tmp_path / "medium.jsonl"), []
    air = Air(line(5), tried=decisions.tried, done=done.append, **radio)  # hidden terminals, and hosts out of reach
    for k in range(FRAMES):
        to = None if k % 2 else (k // 2 + 1 + k % 3) % 5
        air.at(1.0 + k * 0.0002, k // 2 % 5, None if to == k // 2 % 5 else to, k.to_bytes(100, "big"))
    air.run(5.0)
    decisions.file.flush()
    tries = [json.loads(text) for text in (tmp_path / "medium.jsonl").read_text().splitlines()]
    arrived = Counter()
    for row in tries:
        fates = [host for fate in ("delivered", "lost", "collided", "out_of_range") for host in row.get(fate, ())]
        assert len(fates) == len(set(fates)) and row["from"] not in fates
        if row["to"] is not None:
            assert fates == [row["to"]] and row.get("out_of_range", []) == [row["to"]] * (abs(row["to"] - row["from"]) > 1)
        else:
            assert "out_of_range" not in row and set(fates) <= {row["from"] - 1, row["from"] + 1}
        arrived.update((row["from"], to) for to in row["delivered"])
    got = Counter((sender, receiver) for _, receiver, sender, _ in air.got)
    # what comes again after a lost acknowledgement is handed up once
    assert got <= arrived and (got < arrived if "retries" in radio else radio or got == arrived)
    assert any(row["lost"] for row in tries) == bool(radio) and sum(row["collided"] != [] for row in tries) > 5
    payloads = Counter(frame.payload for frame in done)
    assert set(payloads.values()) == {1} and len(done) > FRAMES / 2
    assert {frame.sender for frame in done} == set(range(5))


def test_a_radio_that_goes_off_is_done_with_what_it_had_queued():
    done = []
    air = Air(line(2), done=done.append, queue=3)
    for k in range(6):
        air.at(1.0, 0, None, bytes([k]) * 500)
    air.clock.call_at(1.00001, lambda: air.medium.host_down(0))
    air.run(2.0)
    assert [frame.payload[0] for frame in done] == [0, 1, 2, 3] and not air.got
