"""The evaluation of recovery: its runs, quantities and claims, and the way from the command line to the page."""
from __future__ import annotations

import dataclasses
import math
import re

import pytest

import topologies
from emulation.studies import simulators, sweep, tables, verdicts
from emulation.studies.epidemic import EPIDEMIC, claims, figures
from emulation.studies.epidemic.quantities import QUANTITIES
from emulation.studies.evaluation import Panel
from emulation.studies.overlay import Parameters
from emulation.studies.reproduce import reproduce
from tests.cli.command import here


def runs(*names: str, seeds: int = 1) -> list[dict]:
    return sweep.runs(EPIDEMIC, EPIDEMIC.of(names or EPIDEMIC.figures), seeds, {"replacement": "seeker"})


def test_every_run_is_one_that_can_be():
    for given in runs():
        if simulators.command(given) == "overlay":
            Parameters.of(given)
            continue
        sections: dict = {}
        for key, value in given.items():
            section, _, name = key.partition(".")
            sections.setdefault(section, {})[name] = value
        scenario = topologies.build(sections)
        assert (scenario.node.recovery, scenario.run.seed) == (given["node.recovery"], 1)
    assert len({panel.name for panel in EPIDEMIC.panels}) == len(EPIDEMIC.panels)


def test_without_recovery_there_is_nothing_to_tune():
    """One run a seed without recovery serves the sweeps over gossip interval and buffer, the middle of the others too."""
    alone = [given for given in runs("gossip", "buffer", "loss", seeds=2) if given["recovery"] == "none"]
    assert len(alone) == 2 * len(figures.LOSS[1])
    assert len(runs("loss")) == len(figures.LOSS[1]) * len(figures.ALGORITHMS)
    radio = runs("radio")
    assert len(radio) == len(figures.FRAMES[1]) * len(figures.ALGORITHMS)  # the bound is of the runs without recovery
    assert all("replacement" not in given for given in radio)


RESULT = {
    "parameters": {"first": 1.0, "last": 1.2, "duration": 2.0, "loss": 0.1, "dispatchers": 10, "event_bits": 1000.0},
    "bin": 0.1, "due": [9] * 10 + [10, 30] + [9] * 8, "made": [9] * 10 + [5, 25] + [0] * 8, "events": [40] * 10 + [20] * 10,
    "recovery": {"TAGGED_EVENT": {"messages": 200, "bits": 10_000.0}, "COUNTERS": {"messages": 30, "bits": 40_000.0}},
    "distances": [0, 10, 30], "late": [0.4, 1.0, 2.0]}


def test_quantities_are_counted_by_hand():
    found = {name: QUANTITIES.scalar(name, RESULT) for name in ("delivery", "overhead", "messages", "said", "late")}
    assert found == pytest.approx({"delivery": 75, "overhead": 25, "messages": 3.0, "said": 100 * (9 + 24.3) / 40, "late": 0.4})
    assert math.isnan(QUANTITIES.scalar("late", RESULT | {"late": []}))
    scenario = {"numbers": {"ratio": 0.8, "bound": 0.9, "bytes_per_host_second": 500.0}}
    assert [QUANTITIES.scalar(name, scenario) for name in ("delivery", "bound", "bytes")] == [80, 90, 500]
    empty = {"numbers": {"ratio": None, "bound": None}}
    assert all(math.isnan(QUANTITIES.scalar(name, empty)) for name in ("delivery", "bound"))


def points(**series) -> tables.Tables:
    """For each panel its series, each with a mean a value of x."""
    found = tables.Tables()
    for panel, curves in series.items():
        for name, values in curves.items():
            for x, value in values.items():
                found.points[panel.replace("_", "-"), name, x] = tables.Point(value, value, value, 3)
    return found


def verdict(says: str, found: tables.Tables) -> verdicts.Verdict:
    (claim,) = [claim for claim in claims.CLAIMS if says in claim[1]]
    return verdicts.judge([claim], found)[0]


def test_every_claim_is_judged_or_says_what_is_missing():
    found = verdicts.judge(EPIDEMIC.claims, tables.Tables())
    assert {one.verdict for one in found} == {"unmeasured"}
    assert {one.figure for one in found} <= set(EPIDEMIC.figures)
    about = " ".join(one.says for one in found)
    for said in ("neither of the pull solutions alone", "similarly to push", "lower overhead when reconfigurations are rare",
                 "push suffers from many patterns", "pull suffers from few subscribers", "(1 - e) ^ distance", "gap to the bound"):
        assert said in about, said


@pytest.mark.parametrize("pulls, push, both, said", [
    ((66, 70), 80, 79, "agrees"), ((66, 78), 80, 79, "differs"), ((66, 70), 72, 79, "differs")])
def test_neither_pull_alone_can_go_either_way(pulls, push, both, said):
    found = points(loss_delivery={"none": {0.1: 55}, "push": {0.1: push}, "subscriber_pull": {0.1: pulls[0]},
                                  "publisher_pull": {0.1: pulls[1]}, "combined": {0.1: both}})
    assert verdict("neither of the pull", found).verdict == said


def test_similar_to_push_is_within_five_points_everywhere():
    found = points(loss_delivery={"push": {0.05: 90, 0.1: 80}, "combined": {0.05: 92, 0.1: 76}})
    assert verdict("similarly to push (within", found).verdict == "agrees"
    found.points["loss-delivery", "combined", 0.1] = tables.Point(74, 74, 74, 3)
    assert verdict("similarly to push (within", found).verdict == "differs"


def test_what_suffers_is_measured_by_the_share_that_comes_back():
    """Push falls from 80 to 40 % of the missing though it delivers more at the end than at the start."""
    found = points(patterns_delivery={"none": {18: 50, 280: 80}, "push": {18: 90, 280: 88}, "publisher_pull": {18: 75, 280: 90}})
    one = verdict("push suffers", found)
    assert one.verdict == "agrees" and "push 80 and 40 %" in one.measured and "publisher pull 50 and 50 %" in one.measured
    found.points["patterns-delivery", "push", 280] = tables.Point(96, 96, 96, 3)
    assert verdict("push suffers", found).verdict == "differs"


def test_the_gap_over_radio_is_that_to_the_bound():
    delivered = {"none": {0.1: 80}, "bound": {0.1: 90}, "push": {0.1: 86}, "subscriber_pull": {0.1: 80}, "publisher_pull": {0.1: 79},
                 "combined": {0.1: 85}}
    found = points(once_delivery=delivered, once_bytes={name: {0.1: 400 + 100 * place}
                                                        for place, name in enumerate(figures.ALGORITHMS)})
    one = verdict("where they do not", found)
    assert one.verdict == "agrees"
    assert "push 60 % for +100 B" in one.measured and "publisher pull -10 % for +300 B" in one.measured
    assert "combined 50 % for +400 B" in one.measured


def test_lossy_links_are_held_against_what_is_computed():
    found = points(loss_delivery={"none": {0.1: 55.0, 0.2: 33.0}}, loss_said={"none": {0.1: 54.0, 0.2: 31.0}})
    assert verdict("(1 - e) ^ distance", found).verdict == "agrees"
    found.points["loss-said", "none", 0.2] = tables.Point(52.0, 52.0, 52.0, 3)
    assert verdict("(1 - e) ^ distance", found).verdict == "differs"


def test_from_the_runs_of_both_simulators_to_the_page(tmp_path):
    small = figures.BASE | {"dispatchers": 12, "available": 6}
    names = figures.curves(names=("none", "push"))
    park = figures.PARK | {"hosts.count": 5, "mobility.area": [200, 200], "workload.kinds": 3, "run.duration": 60, "run.warm_up": 5,
                           "run.deadline": 10.0}
    panels = (Panel("loss", "-delivery", "Tiny", "delivery", "%", ("loss", (0.1, 0.2)), "e", names, small),
              Panel("loss", "-said", "Tiny", "said", "", ("loss", (0.1, 0.2)), "", names[:1], small, drawn=False),
              Panel("once", "-delivery", "Tiny", "delivery", "%", ("radio.loss", (0.1,)), "e",
                    figures.curves(figures.BOUND, names=("none",), key="node.recovery"), park, seed="run.seed"))
    tiny = dataclasses.replace(EPIDEMIC, panels=panels)
    found = reproduce(tiny, tmp_path, seeds=1)
    assert (found.done, found.tables.runs, found.tables.compared, found.tables.missing) == (5, 5, 4, [])
    assert found.tables.at("loss-delivery", "push", 0.1).mean > found.tables.at("loss-delivery", "none", 0.1).mean + 5
    assert found.tables.at("once-delivery", "none", 0.1).mean <= found.tables.at("once-delivery", "bound", 0.1).mean <= 100
    page = found.page.read_text()
    assert 'id="figure-loss"' in page and 'id="figure-once"' in page and "Epidemic algorithms" in page
    assert (tmp_path / "figure-once-delivery.svg").exists() and not (tmp_path / "figure-loss-said.svg").exists()
    assert (tmp_path / "figure-loss-said.csv").read_text().startswith("series,loss,mean")  # the numbers of all panels
    torn = next(iter((tmp_path / "results").glob("*.json")))
    torn.write_bytes(torn.read_bytes()[:-9])
    again = reproduce(tiny, tmp_path, ("loss", "once"), seeds=1)
    assert (again.done, again.damaged, again.tables.points) == (1, 1, found.tables.points)


def test_a_figure_that_is_none_is_told_with_those_there_are(tmp_path):
    done = here("reproduce", "epidemic", "--figure", "14", "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "figure 14: the evaluation of recovery has loss, interval, buffer, gossip, patterns, subscribers, radio, once" in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_run_tells_what_came_back_and_what_it_cost(tmp_path):
    done = here("reproduce", "overlay", "recovery=push", "loss=0.1", "publish=5", "rate=0", "dispatchers=20", "available=8", "patterns=2",
                    "letters=2", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"^PUSH_GOSSIP +[\d,]+ +[\d,]+$", done.stdout, re.M)
    assert re.search(r"^recovered: [\d,]+, half of them within \d\.\d\d s$", done.stdout, re.M)


def test_a_gossip_round_is_counted_by_hand():
    one = {"parameters": {"duration": 5.5, "first": 1.0, "gossip_interval": 0.05, "dispatchers": 100},
           "recovery": {"PUSH_GOSSIP": {"messages": 5, "bits": 60_000.0}, "TAGGED_EVENT": {"messages": 9, "bits": 30_000.0}}}
    assert EPIDEMIC.quantities.scalar("round", one) == pytest.approx(90 / 100 / 90)  # kbit, dispatchers, rounds
