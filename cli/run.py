"""`roamcast run`: run a scenario, analyse what it recorded, print the delivery table."""
from __future__ import annotations

import argparse
import json
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.arguments import whole
from cli.batch import batch_help, note, run_batch
from cli.errors import INTERRUPTED, UserError
from cli.terminal import raw

if TYPE_CHECKING:
    from emulation.world import Report
    from topologies.scenario import Scenario

Manifest = dict[str, Any]  # manifest.json of a run (docs/worlds.md)
HELP = "run a scenario, analyse it and print the delivery table"
CUT_SHORT = 1  # exit code: the run is shorter than it was to be: disk full, a process killed
INVALID = 3  # exit code: it did not keep to real time, or something befell it that is not in the scenario
MOST_HOSTS = 8  # named in one line
LONGEST = 2000  # characters of a command that are shown
MOST_TOLD = 20  # problems of a workload at once
OPTIONS = {"at_once": "-j", "values": "--set"}  # whose names are not those of what they give
ROOM = 1 << 26  # bytes that an analysis should find free


class Arguments(argparse.Namespace):
    scenario: Path | None
    batch: str | None
    measure: bool
    world: str | None
    seed: int | None
    seeds: str | None
    at_once: int | None
    values: list[str]
    journal: bool
    no_capture: bool
    capture_most: int | None
    allow_commands: bool
    out: Path | None
    watch: bool
    no_analysis: bool
    master: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("scenario", type=Path, nargs="?", metavar="SCENARIO", help="scenario, a TOML file such as topologies/park-30.toml")
    what.add_argument("--batch", metavar="FILE", help=batch_help('{"key": "a", "parameters": {"hosts.count": 50, ...}}'))
    parser.add_argument("--measure", action="store_true",
                        help="simulate, and print only the numbers, as JSON; no run directory, no analysis")
    parser.add_argument("--world", metavar="W", help="world to run in (default: the scenario's): sim, netns, hwsim, mininet")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all random streams (default: the scenario's)")
    parser.add_argument("--seeds", metavar="LIST", help="several runs, such as 1-30 or 1,4,10-12: a run directory each, and their means")
    parser.add_argument("-j", dest="at_once", type=whole(1, 4096, "runs at once"), metavar="N",
                        help="with --seeds or --batch: runs at once, in sim (default: one for each processor)")
    parser.add_argument("--set", dest="values", action="append", default=[], metavar="KEY=VALUE",
                        help="a value in place of the scenario's, such as node.reconcile=path or mobility.speed=[1,2]; may be repeated")
    parser.add_argument("--journal", action="store_true", help="keep the inputs of every node, for `roamcast replay`")
    parser.add_argument("--no-capture", action="store_true", help="write no pcap, about three quarters of a run directory")
    parser.add_argument("--capture-most", type=whole(1024, 10**15, "bytes"), metavar="BYTES", help="end each radio's pcap there; the run's notes say so")
    parser.add_argument("--allow-commands", action="store_true",
                        help="start the commands that the scenario gives its hosts, with your rights; `roamcast check` "
                             "lists them")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="run directory to create (default: runs/NAME-sSEED-DATE-TIME); with --seeds, folder for the run directories; "
                             "with --batch, for the KEY.json files")
    parser.add_argument("--watch", action="store_true", help="show a live line per host (in every world but sim)")
    parser.add_argument("--no-analysis", action="store_true", help="record only; `roamcast analyse` does the rest")
    parser.add_argument("--master", metavar="URL", help="Spark master for the analysis (default: embedded)")


def run(args: Arguments) -> int:
    """0: done; 1: cut short; 2: nothing was started; 3: not valid, see the limits [run.fidelity]; 130: Ctrl-C. Of a batch 1: a
    run failed, which its file tells."""
    if args.batch is not None:
        if args.out is None:
            raise UserError("--batch FILE goes with --out DIR, the folder for its KEY.json files")
        _refuse_beside("--batch", args, "world", "seed", "seeds", "values")
        return run_batch(args.batch, args.out, "measure", args.at_once)
    if args.no_capture and args.capture_most is not None:
        raise UserError("--capture-most: found together with --no-capture, where it changes nothing; leave it out")
    assert args.scenario is not None  # one of the two is required
    if args.measure:
        _refuse_beside("--measure", args, "out", "seeds", "at_once")
        return _measure(args, args.scenario)
    if args.seeds is not None:
        return _run_seeds(args, args.scenario, _seeds(args))
    if args.at_once is not None:
        raise UserError("-j: found without --seeds or --batch, where there is one run; leave it out")
    return _run(args, args.scenario)


def _refuse_beside(word: str, args: Arguments, *more: str,
                   only: tuple[str, ...] = ("journal", "no_capture", "capture_most", "allow_commands", "watch", "no_analysis", "master")) -> None:
    """Options that change nothing there: `only` those where numbers alone are kept, and more. Raises UserError."""
    for key in (*only, *more):
        if getattr(args, key) not in (None, False, []):
            raise UserError(f"{OPTIONS.get(key, '--' + key.replace('_', '-'))}: found together with {word}, where it changes nothing; leave it out")


def _measure(args: Arguments, path: Path) -> int:
    """Print the numbers that the run would have printed (analysis/tally.py)."""
    from emulation import runner
    from emulation.studies.measure import Measure, MeasureError, only_sim

    scenario = load(path, _overrides(args))
    try:
        only_sim(scenario.run.world)
    except MeasureError as error:
        raise UserError(f"{path}: {error}") from None
    for sentence in runner.notes(scenario):
        note(sentence)
    print(json.dumps(Measure().measured(scenario)))
    return 0


def _overrides(args: Arguments) -> dict[str, object]:
    from topologies.file import value_of

    given = {"run.world": args.world, "run.seed": args.seed, "run.journal": args.journal or None,
             "run.capture": False if args.no_capture else None, "run.capture_most": args.capture_most}
    found: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    for text in args.values:
        key, is_one, value = text.partition("=")
        key = key.strip()
        if not is_one or not key or not all(key.split(".")):
            raise UserError(f"--set: found {json.dumps(text)}; give KEY=VALUE, such as node.reconcile=path")
        if key in found or key == "run.seed" and args.seeds is not None:
            raise UserError(f"--set {key}: found its value twice; give it once")
        try:
            found[key] = value_of(value.strip())
        except ValueError:
            raise UserError(f"--set {key}: found {json.dumps(value)}; give a value as it stands in a scenario: 3, true, [1, 2], a word, "
                            'or a text in quotes (\'"a text"\')') from None
    return found


def _seeds(args: Arguments) -> tuple[int, ...]:
    from topologies.seeds import seeds

    if args.seed is not None:
        raise UserError("--seeds: found together with --seed; use one of the two")
    _refuse_beside("--seeds", args, only=("watch",))
    try:
        return seeds(args.seeds or "")
    except ValueError as error:
        raise UserError(f"--seeds: {error}") from None


def _run_seeds(args: Arguments, file: Path, seeds: tuple[int, ...]) -> int:
    """A run directory for each seed, side by side in sim, and their means. 1: a run failed or was cut short."""
    from analysis import AnalysisError
    from cli.progress import for_runs
    from emulation import runner
    from emulation.studies import seeds as several

    if not args.no_analysis:
        check_analysis(args.master)
    scenario = load(file, _overrides(args) | {"run.seed": seeds[0]})
    if scenario.run.world != "sim":
        raise UserError(f"--seeds: found together with world {scenario.run.world}, which has the machine to itself; start its runs one "
                        "after the other, with --seed")
    if len(seeds) > several.MOST:
        raise UserError(f"--seeds: found {len(seeds):,} runs; a run directory each, at most {several.MOST:,}: `roamcast sweep` keeps numbers alone")
    for sentence in runner.notes(scenario):
        note(sentence)
    try:
        with for_runs(raw(sys.stderr)) as report:
            made, failed = several.run(scenario, seeds, args.out, report, args.at_once, args.master)
    except AnalysisError as error:
        raise UserError(str(error)) from None
    for seed, why in failed.items():
        print(f"failed: seed {seed}: {why}", file=sys.stderr)
    print(f"Recorded {len(made)} runs in {', '.join(map(str, dict.fromkeys(path.parent for path in made)))}" if made else "No run was recorded")
    valid = args.no_analysis or not made or analyse(made, args.master)
    return CUT_SHORT if failed else 0 if valid else INVALID


def _run(args: Arguments, file: Path) -> int:
    from cli import progress, watch
    from emulation import runner

    if not args.no_analysis:
        check_analysis(args.master)
    scenario = load(file, _overrides(args))
    if not args.allow_commands and (told := commands(scenario)):
        cure = "read them, and add --allow-commands if you trust them; nothing was started"
        raise UserError("\n".join([*(f"{file}: {line}" for line in told), f"{file}: hosts.command: {cure}"]))
    if args.watch and scenario.run.world == "sim":
        raise UserError("--watch: the simulator ends before you could look; use it for runs in real time")
    for sentence in runner.notes(scenario):
        note(sentence)
    if not args.no_analysis and scenario.run.world == "sim":  # in real time the machine is for the nodes
        import analysis

        analysis.prepare(args.master)
    screen = raw(sys.stderr)
    shown = watch.for_terminal(screen, scenario.names) if args.watch else progress.for_terminal(screen)
    path, manifest = _record(scenario, args.out, shown)
    print(_told(path, manifest))
    print(_judged(manifest), end="", file=sys.stderr, flush=True)
    if manifest["outcome"] == "disk_full" and shutil.disk_usage(path).free < ROOM:
        print(f"There is no room for a report: free some space, then: roamcast analyse {path}")
    elif not args.no_analysis:
        analyse([path], args.master)  # which tells the notes, too
    else:
        for sentence in manifest["fidelity"].get("notes", ()):
            note(sentence)
    if manifest["outcome"] == "complete":
        return INVALID if manifest["fidelity"].get("valid") is False else 0
    return INTERRUPTED if manifest["outcome"] == "interrupted" else CUT_SHORT


def load(path: Path, overrides: dict[str, object]) -> Scenario:
    """The checked scenario; UserError tells every problem it has."""
    import topologies
    from emulation import runner
    from emulation.workload import WorkloadError
    from topologies import study

    try:
        if path.is_file() and study.is_study(path):
            raise UserError(f"{path}: a study, no scenario; `roamcast sweep {path}` checks and runs it")
        scenario = topologies.load(path, overrides)
        runner.check(scenario)
    except topologies.ScenarioError as error:
        raise UserError(str(error)) from None
    except WorkloadError as error:
        raise UserError("\n".join(f"{path}: {problem}" for problem in str(error).split("\n")[:MOST_TOLD])) from None
    return scenario


def commands(scenario: Scenario) -> list[str]:
    """Which programs a run of the scenario would start on this machine and as whom, a sentence each; none for most scenarios."""
    import shlex

    from topologies.problems import one_line

    sentences = []
    for command, hosts in scenario.hosts.commands(len(scenario.names)).items():
        named = ", ".join(scenario.naming.who(host).removeprefix("host ") for host in hosts[:MOST_HOSTS])
        more = f" and {len(hosts) - MOST_HOSTS} more" if len(hosts) > MOST_HOSTS else ""
        which = f"host{'s' if len(hosts) > 1 else ''} {named}{more}"
        text = one_line(shlex.join(command))
        cut = f" ... ({len(text) - LONGEST:,} characters more)" if len(text) > LONGEST else ""
        sentences.append(f"hosts.command: {which} would run, {_as_whom()}: {text[:LONGEST]}{cut}")
    untold = len(sentences) - MOST_TOLD
    return sentences[:MOST_TOLD] + ([f"hosts.command: and {untold} more commands"] if untold > 0 else [])


def _as_whom() -> str:
    """With whose rights programs of hosts run: a host has a network of its own, and the files of this machine."""
    import getpass
    import os

    if os.geteuid() == 0:
        return "as root on this machine"
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"user {os.geteuid()}"
    return f"as {user} on this machine"


def _record(scenario: Scenario, out: Path | None, progress: AbstractContextManager[Report]) -> tuple[Path, Manifest]:
    from errno import ELOOP

    import mobility
    from emulation import runner
    from emulation.rundir import RunDirError
    from emulation.world import WorldError

    try:
        with progress as report:
            path = runner.run(scenario, out, report, _say)
    except (RunDirError, mobility.TraceError, WorldError) as error:
        raise UserError(str(error)) from None
    except OSError as error:
        if error.errno != ELOOP:
            raise
        raise UserError(f"{error.filename}: {error.strerror}") from None  # somebody works in the run directory
    manifest: Manifest = json.loads((path / "manifest.json").read_text())
    return path, manifest


def _say(sentence: str) -> None:
    print(f"roamcast: {sentence}", file=sys.stderr, flush=True)


def _told(path: Path, manifest: Manifest) -> str:
    """One line on how the run went and where it lies."""
    took = f"{manifest['ended']:g} s in {manifest['seconds']:.1f} s"
    if manifest["outcome"] == "disk_full":
        return (f"The disk is full ({manifest['reason']}): the run stopped after {took}; "
                f"what was written is kept in {path}")
    if manifest["outcome"] == "interrupted":
        return f"Interrupted: the run stopped after {took}; what was recorded is in {path}"
    if manifest["outcome"] == "failed":
        return f"The run failed after {took}: {manifest['reason']}; what was recorded is in {path}"
    return f"Ran {took}; recorded in {path}"


def _judged(manifest: Manifest) -> str:
    """Why the run is not valid, loudly; nothing when it is."""
    because = manifest["fidelity"].get("invalid_because")
    if not because or manifest["outcome"] == "failed":
        return ""
    bar = "=" * 78
    return "\n".join([bar, "THIS RUN IS NOT VALID: its numbers are about the machine, not about the network.",
                      *(f"  - {reason}" for reason in because), bar, ""])


def check_analysis(master: str | None) -> None:
    """Before hours of a run: whether the analysis after it could begin. UserError if not."""
    from analysis import AnalysisError, machine

    try:
        machine.check()
        if master is not None:
            from analysis.session import check_master

            check_master(master)
    except AnalysisError as error:
        raise UserError(str(error)) from None


def analyse(paths: list[Path], master: str | None, out: Path | None = None) -> bool:
    """Analyse run directories, print the table and where the reports lie, write `out` if asked; whether all were valid.
    UserError if that cannot be."""
    import analysis
    from analysis import means

    try:
        if out is not None:
            means.check_name(out, (*means.FORMATS, means.PAGE))
        summary = analysis.analyse(paths, master, lambda sentence: print(sentence, file=sys.stderr, flush=True))
        if out is not None and out.suffix == means.PAGE:
            from analysis import several

            several.write_runs(summary, out)
        elif out is not None:
            means.write(summary, out)
    except analysis.AnalysisError as error:
        raise UserError(str(error)) from None
    print()
    print(summary.table())
    print()
    for report in summary.reports:
        print(f"Report: {report}")
    if out is not None and out.suffix == means.PAGE:
        print(f"Report of all: {out}")
    return not summary.invalid
