"""`roamcast plot`: draw the table of a study, means with 95 % intervals or differences paired by seed, as SVG, PDF and PNG."""
from __future__ import annotations

import argparse
from pathlib import Path

from cli.errors import UserError

HELP = "draw a study: means with 95 % intervals, as SVG, PDF and PNG"


class Arguments(argparse.Namespace):
    study: Path
    metric: list[str]
    x: str | None
    against: str | None
    out: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", type=Path, metavar="DIR", help="folder of a study, as `roamcast sweep` writes it")
    parser.add_argument("--metric", action="append", default=[], metavar="KEY",
                        help="what to draw, a metric of the study's columns.csv; may be repeated, a figure each (default: ratio)")
    parser.add_argument("--x", metavar="KEY", help="key on the x axis (default: the one with most numbers)")
    parser.add_argument("--against", metavar="NAME", help="draw differences, seed by seed, from this line or setting")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the figures (default: the study's)")


def run(args: Arguments) -> int:
    """0: done; 2: nothing to draw."""
    from analysis import AnalysisError, plot, table

    folder = args.out or args.study
    try:
        if not folder.is_dir():
            raise AnalysisError(f"{folder}: no such folder; {'make it' if args.out else 'give one that `roamcast sweep` wrote'}")
        found = table.read(args.study)
        metrics = dict.fromkeys(args.metric or ["ratio"])
        charts = [plot.chart(found, metric, args.x, args.against) for metric in metrics]
        for chart in charts:
            stem = f"figure-{chart.metric.key}{'-difference' if args.against else ''}"
            paths = plot.draw(chart, folder / stem)
            runs = sorted({point.runs for of in chart.lines.values() for point in of})
            drawn = sum(map(len, chart.lines.values()))
            print(f"{chart.metric.name}: {drawn} setting{'s' if drawn > 1 else ''}, {runs[0] if len(runs) == 1 else f'{runs[0]} to {runs[-1]}'} "
                  f"{'pairs' if args.against else 'seeds'} each, bars are 95 % intervals: {', '.join(map(str, paths))}")
            if chart.missing:
                print(f"note: not drawn, for want of a value: {'; '.join(chart.missing)}")
            if runs[0] == 1:
                print(f"note: points of one {'pair' if args.against else 'run'} have no interval")
    except AnalysisError as error:
        raise UserError(str(error)) from None
    if failed := sum(bool(row.failed) for row in found.rows):
        print(f"{failed} failed runs are not in it; the column failed of runs.csv says why")
    return 0
