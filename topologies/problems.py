"""Describes what is wrong with a scenario: one line per problem, with file, key, finding and cure."""

from __future__ import annotations

import difflib
import json
import re
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from topologies.run import NAME

MOST_TOLD = 20
HOST_LISTS = ("hosts", "link", "roam")  # keys that name several hosts
HOST_KEYS = ("host", "from", "to", *HOST_LISTS)
LONGEST_KEY = 64  # characters of one part of a key that are shown
_TYPES = {
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "string_type": "expected a text in quotes",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list, [..]",
    "dict_type": "expected a table, {..}",
    "model_type": "expected a table, {..}",
    "model_attributes_type": "expected a table, {..}",
    "int_from_float": "expected a whole number",
    "attribute_type": "expected a text, a finite number, true or false",
}


class ScenarioError(Exception):
    """A scenario that cannot run; `problems` has one line per problem.

    The text has only the first ones, so that a file of the wrong kind does not fill the screen.
    """

    def __init__(self, problems: Iterable[str], more: int = 0) -> None:
        """`more`: how many further problems were counted but not described."""
        self.problems = [one_line(problem) for problem in problems]
        self.more = more
        told = self.problems[:MOST_TOLD]
        if more := more + len(self.problems) - len(told):
            told.append(f"and {more} more problem{'s' if more > 1 else ''}; fix these first")
        super().__init__("\n".join(told))


def one_line(text: str) -> str:
    """Escape line ends and control characters, as \\u001b: names and values come from files."""
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def line(path: Path | str, key: str, found: str, cure: str) -> str:
    """The form of every problem."""
    return f"{path}: {key}: found {found}; {cure}"


def from_validation(
    path: Path | str, error: ValidationError, schema: type[BaseModel]
) -> tuple[list[str], set[str], int]:
    """Pydantic's findings in our words, each once; the tables in which they are; and how many more there are.

    A table with a wrong name comes first, and keys that are missing only because of it are left out. Only as many as
    people will read are described: a file of the wrong kind may have hundreds of thousands.
    """
    found = error.errors(include_url=False)
    strange = [str(problem["loc"][0]) for problem in found
               if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1]
    meant = {near for word in strange[:MOST_TOLD] for near in _near(word, schema.model_fields)}
    found.sort(key=lambda problem: len(problem["loc"]) > 1 or problem["type"] != "extra_forbidden")
    broken = meant | {str(problem["loc"][0]) for problem in found}
    found = [problem for problem in found if not (problem["type"] == "missing" and problem["loc"][0] in meant)]
    told = dict.fromkeys(_tell(path, problem, schema) for problem in found[:2 * MOST_TOLD])
    return list(told), broken, len(found[2 * MOST_TOLD:])


def _near(word: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(word, known, 1, 0.55) if len(word) <= LONGEST_KEY else []


MOST_SHOWN = 32  # known words in one line


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?` for the nearest known word, or the list of known words."""
    known = list(known)
    if close := _near(word, known):
        return f'did you mean "{close[0]}"?'
    shown = known[:MOST_SHOWN]
    more = f" and {len(known) - len(shown)} more, in docs/scenario.md" if len(known) > len(shown) else ""
    return f"known: {', '.join(shown)}{more}"


def _tell(path: Path | str, problem: Mapping[str, Any], schema: type[BaseModel]) -> str:
    kind, context, found = problem["type"], problem.get("ctx", {}), show(problem["input"])
    key = key_text(problem["loc"]).replace("hosts.each.", "hosts.")
    if kind == "extra_forbidden":
        return line(path, key, "an unknown key", _unknown(problem["loc"], schema))
    if kind == "missing" and isinstance(problem["loc"][-1], int):  # of a pair: the list is too short
        place = problem["loc"][:-1]
        return line(path, key_text(place), found, f"expected a longer list ({_description(place, schema)})")
    if kind == "missing":
        return line(path, key, "nothing", f"add it ({_description(problem['loc'], schema)})")
    if kind == "union_tag_invalid":
        model = problem["input"]["model"]
        tags = [tag.strip("'<> ") for tag in context["expected_tags"].split(",")]
        names = [tag for tag in tags if tag != "trace"]
        return line(path, f"{key}.model", show(model), f"expected {_or(names)}, {nearest(str(model), names)}")
    if kind == "int_type" and [part for part in problem["loc"] if isinstance(part, str)][-1] in HOST_KEYS:
        return line(path, key, found, "expected a host, by id or name")
    if kind == "tuple_type" and isinstance(problem["input"], dict):
        return line(path, key, "one table", f"expected a list of tables, each under [[{key}]]")
    return line(path, key, found, _cure(kind, context))


def _cure(kind: str, context: Mapping[str, Any]) -> str:
    bounds = {
        "greater_than": ("gt", "expected above {}"),
        "greater_than_equal": ("ge", "expected {} or more"),
        "less_than": ("lt", "expected below {}"),
        "less_than_equal": ("le", "expected {} or less"),
        "string_too_long": ("max_length", "expected at most {} characters"),
        "string_pattern_mismatch": ("pattern", "expected {}"),
        "string_too_short": ("min_length", "expected at least {} characters"),
    }
    if kind in _TYPES:
        return _TYPES[kind]
    if kind in bounds:
        name, text = bounds[kind]
        value = context[name]
        if kind == "string_pattern_mismatch":
            return "expected " + ("1 to 32 letters, digits, _, . or -" if value == NAME else "a name without control characters")
        return text.format(f"{value:g}" if isinstance(value, float) else value)
    if kind == "literal_error":
        return f"expected {context['expected']}".replace("'", '"')
    if kind == "draw":
        return str(context["cure"])
    if kind == "too_short":
        return f"expected at least {context['min_length']} of them"
    if kind == "too_long":
        return f"expected at most {context['max_length']} of them"
    if kind == "finite_number":
        return "expected a finite number"
    return "see docs/scenario.md for valid values"


def _unknown(place: tuple[Any, ...], schema: type[BaseModel]) -> str:
    model = _model_at(place[:-1], schema)
    if place[-1] == "model" and "<trace>" in place:
        return "give either a trace or a model, not both"
    if place[-1] in ("link", "host") and place[0] == "faults":
        return "give either a host or a link, not both"
    for other in _models_at(tuple(part for part in place[:-1] if not str(part).startswith("<")), schema):
        field = other.model_fields.get("model")
        if field and place[-1] in other.model_fields and other is not model:
            return f'it is for model = "{field.default}"'
    return nearest(str(place[-1]), [field.alias or name for name, field in model.model_fields.items()])


def _description(place: tuple[Any, ...], schema: type[BaseModel]) -> str:
    model = _model_at(place[:-1], schema)
    for name, field in model.model_fields.items():
        if place[-1] in (name, field.alias):
            return _words(field.annotation) + (field.description or "a table")
    return "it is needed"


def _words(annotation: object) -> str:
    """`"cut" or "restore": ` for a key that takes some words only, which its description need not name."""
    if typing.get_origin(annotation) is not typing.Literal:
        return ""
    words = [f'"{word}"' for word in typing.get_args(annotation)]
    return f"{', '.join(words[:-1])} or {words[-1]}: " if len(words) > 1 else f"{words[0]}: "


def _model_at(place: tuple[Any, ...], schema: type[BaseModel]) -> type[BaseModel]:
    """The section that stands at a place of pydantic's; tags of unions are written <tag>."""
    return _models_at(place, schema)[0]


def _models_at(place: tuple[Any, ...], schema: type[BaseModel]) -> list[type[BaseModel]]:
    """All sections that may stand there, if the place does not hold the tag that tells which."""
    candidates = [schema]
    for part in place:
        if isinstance(part, int) or part.isdecimal():
            continue
        if part.startswith("<"):
            candidates = [m for m in candidates if _answers_to(m, part.strip("<>"))]
            continue
        candidates = [
            model
            for candidate in candidates
            for name, field in candidate.model_fields.items()
            if part in (name, field.alias)
            for model in _models_in(field.annotation)
        ]
    return candidates


def _answers_to(model: type[BaseModel], tag: str) -> bool:
    field = model.model_fields.get("model")
    return field.default == tag if field else tag in model.model_fields


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models_in(part)]


def key_text(place: Iterable[str | int]) -> str:
    """`radio.links[2].loss` from the parts of a place, tags of unions left out."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith("<"):
            text += ("." if text else "") + (part if len(part) <= LONGEST_KEY else part[:LONGEST_KEY - 3] + "...")
    return text or "the file"


def show(value: object) -> str:
    """A value as in TOML, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _or(words: list[str]) -> str:
    return " or ".join(f'"{word}"' for word in words)


UNITS = ("bit/s", "bytes", "dB", "dBm", "m", "m/s", "s")  # with which descriptions begin


def about(key: str, schema: type[BaseModel]) -> tuple[str, str]:
    """Unit ("" if it has none) and description of a dotted key; empty for one that the schema does not know."""
    *sections, last = key.split(".")
    for model in _models_at(tuple(re.sub(r"\[\d+\]", "", part) for part in sections), schema):
        for name, field in model.model_fields.items():
            if last in (name, field.alias):
                unit, _, says = (field.description or "").partition(": ")
                return (unit, says) if unit in UNITS else ("", field.description or "")
    return "", ""
