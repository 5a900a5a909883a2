"""The list of mutants stands: each still applies and still is Python; those by chance as well."""
from __future__ import annotations

import pytest

from tests.mutants import ROOT, Mutant, rooms
from tests.mutants.__main__ import FOLDERS, TESTS, main
from tests.mutants.operators import sample


@pytest.mark.parametrize("room", rooms())
def test_each_mutant_applies_and_compiles(room):
    mutants = rooms()[room]
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        assert mutant.file.startswith(FOLDERS[room]) and mutant.does
        compile(mutant.applied((ROOT / mutant.file).read_text()), mutant.file, "exec")


def test_each_room_has_tests_and_all_of_them_exist():
    assert set(TESTS) == set(rooms())
    assert not [name for names in TESTS.values() for name in names if not (ROOT / f"tests/node/test_{name}.py").exists()]


@pytest.mark.parametrize("text", ["b", "a a"])
def test_a_mutant_whose_text_does_not_stand_once_is_refused(text):
    with pytest.raises(ValueError, match="not once"):
        Mutant("one", "file.py", "a", "b", "").applied(text)


def test_mutants_by_chance_are_those_of_their_seed():
    drawn = sample(["channel"], 30, 5)
    assert drawn == sample(["channel"], 30, 5) != sample(["channel"], 30, 6)
    for mutant in drawn["channel"]:
        compile(mutant.applied((ROOT / mutant.file).read_text()), mutant.file, "exec")


def test_a_room_without_mutants_is_named(capsys):
    assert main(["cellar"]) == 2
    assert "no mutants of cellar; there are those of reconcile" in capsys.readouterr().err
