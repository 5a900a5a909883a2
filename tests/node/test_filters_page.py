"""docs/filters.md: every example there is as it says."""
from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.pub import parse_attributes
from node import filters
from node.filters import language, parser

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    table = re.search(r"(?:^\|.*\n)+", PAGE.split(f"\n## {heading}\n")[1], re.MULTILINE).group()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def code(cell: str) -> str:
    assert cell[0] == cell[-1] == "`" and "`" not in cell[1:-1]
    return cell[1:-1]


@pytest.mark.parametrize("row", rows("What matches"), ids=lambda row: " ".join(row[:2]))
def test_what_matches(row):
    wanted, event, matches = code(row[0]), parse_attributes(shlex.split(code(row[1]))), row[2]
    assert matches in ("yes", "no")
    assert filters.parse(wanted).matches(event) == (matches == "yes")


def test_there_are_examples_of_every_operator():
    used = {constraint.op for row in rows("What matches") for constraint in filters.parse(code(row[0])).constraints}
    assert used | {"<=", ">"} >= set(language.OPERATORS) and ">" in used


@pytest.mark.parametrize("row", rows("One filter, many ways to write it"), ids=lambda row: row[0])
def test_other_ways_are_the_same_filter(row):
    shown, also = map(code, row)
    assert str(filters.parse(also)) == shown and filters.parse(also) == filters.parse(shown)


@pytest.mark.parametrize("row", rows("What is refused"), ids=lambda row: row[0])
def test_what_is_refused(row):
    with pytest.raises(filters.FilterError) as refused:
        filters.parse(code(row[0]))
    assert str(refused.value) == row[1]


def test_what_covers():
    pairs = re.findall(r"`([^`]+)` covers\s+`([^`]+)`", PAGE)
    assert len(pairs) == 3
    for wide, narrow in pairs:
        assert filters.covers(filters.parse(wide), filters.parse(narrow))
        assert not filters.covers(filters.parse(narrow), filters.parse(wide))


def test_the_grammar_is_the_parsers():
    grammar = re.search(r"(?:^    .*\n)+", PAGE.split("\n## Grammar\n")[1], re.MULTILINE).group()
    assert grammar in parser.__doc__


def test_the_bounds_are_the_codes():
    told = {cells[0]: [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", cells[1])]
            for cells in rows("Bounds")}
    assert told == {
        "an event": [language.MAX_ATTRIBUTES], "a name": [language.MAX_NAME, 8],
        "a text or bytes value": [language.MAX_VALUE], "a whole number": [2, 53],
        "a filter": [language.MAX_CONSTRAINTS, language.MAX_FILTER], "`in`": [language.MAX_CHOICES]}
    assert language.MAX_INTEGER == 2**53
