"""Recovery across a partition, in whole runs of `sim`: what the other half missed comes from caches."""
from __future__ import annotations

from tests.system.runs import LIBRARY, of_kind, run

APART = (115.0, 165.0)  # s; the radio parts the two groups from 110 to 170 s
DURATION = 230.0


def across(directory) -> tuple[int, int, list[dict]]:
    """Pairs of an event published while apart and a subscriber of the other group; how many came; the deliveries."""
    wanted, due, made = {}, set(), []
    for record in of_kind(directory, "subscribed", "published", "delivered"):
        if record["kind"] == "subscribed":
            wanted.setdefault(record["constraints"][0]["values"][0]["s"], set()).add(record["node"])
        elif record["kind"] == "published" and APART[0] <= record["t"] <= APART[1]:
            (kind,) = (a["value"]["s"] for a in record["attributes"] if a["name"] == "kind")
            due |= {(record["event"], node) for node in wanted[kind] if (node < 5) != (record["node"] < 5)}
        elif record["kind"] == "delivered" and (record["event"], record["node"]) in due:
            made.append(record)
    return len(due), len({(record["event"], record["node"]) for record in made}), made


def test_two_halves_that_were_apart_for_a_minute_exchange_what_the_other_missed(tmp_path):
    found = {}
    for recovery in ("none", "combined"):
        directory = run(LIBRARY / "minute-apart.toml", tmp_path / recovery, run__duration=DURATION, run__capture=False,
                        node__recovery=recovery, node__replay_window=0, run__window=[30.0, 130.0])
        found[recovery] = across(directory)
        if recovery == "combined":
            everything = [(r["event"], r["node"]) for r in of_kind(directory, "delivered")]
            assert len(everything) == len(set(everything)), "nothing twice"
            givers = of_kind(directory, "event_recovered")
    due, came, _ = found["none"]
    assert due > 200 and came == 0
    assert found["combined"][0] == due and found["combined"][1] >= 0.97 * due
    late = found["combined"][2]
    assert all(record["recovered"] for record in late) and all(record["t"] > 165.0 for record in late)
    assert {(record["event"], record["node"]) for record in late} <= {(r["event"], r["node"]) for r in givers}
    assert all(r["giver"] != r["node"] and r["rounds"] >= 1 and r["seconds"] > 0 for r in givers)
