"""One page beside each other: the figures, what the paper states of them, what we measure, a verdict."""
from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import jinja2

import analysis
from emulation.studies.evaluation import Evaluation, Given, Panel
from emulation.studies.points import Tables
from emulation.studies.verdicts import Verdict
from mobility.wholefile import write_whole

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_STYLE = Path(analysis.__file__).resolve().parent / "templates" / "report.css"  # that of the report of a run
RULES = {"uniform": "any link that reconnects, equally likely",
         "shared": "any link that shares an old end with it, equally likely",
         "seeker": "one that an old end, equally likely, finds on the other side",
         "any_two": "any link between any two parts that there are, equally likely",
         "end_any": "one that an old end, equally likely, finds in any other part that there is"}
MEMORIES = {"none": "nobody remembers what neighbors were told, as in the paper's figures",
            "told": "what neighbors were told is remembered, and only differences are sent"}


def write(path: Path, evaluation: Evaluation, panels: tuple[Panel, ...], drawings: dict[str, Path],
          verdicts: list[Verdict], tables: Tables, seeds: int, readings: Given) -> None:
    """The page is one file; the drawings are inside."""
    simulated = any(panel.seed == "seed" for panel in panels)
    read = [f"a link is replaced by {RULES[readings['replacement']]}"] if simulated else []
    if simulated and "memory" in readings:
        read.append(MEMORIES[readings["memory"]])
    drawn = [panel for panel in panels if panel.name in drawings]
    numbers = list(dict.fromkeys(panel.figure for panel in drawn))
    figures = [{"number": number, "title": next(panel.title for panel in drawn if panel.figure == number),
                "drawings": [_svg(drawings[panel.name]) for panel in drawn if panel.figure == number],
                "claims": [one for one in verdicts if one.figure == str(number)]} for number in numbers]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True)
    write_whole(path, environment.get_template("reproduction.html").render(
        title=evaluation.title, figures=figures, tables=tables, seeds=seeds,
        read=read,
        general=[one for one in verdicts if one.figure not in map(str, evaluation.figures)],
        counts=Counter(one.verdict for one in verdicts).most_common(),
        style=_STYLE.read_text()))


def _svg(path: Path) -> str:
    """The drawing as an element whose ids are its own."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("<svg"):]
    salt = path.stem + "-"
    text = re.sub(r'\bid="', f'id="{salt}', text)
    text = text.replace("url(#", f"url(#{salt}").replace('href="#', f'href="#{salt}')
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
