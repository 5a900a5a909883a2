"""Mutants of the node: small changes of meaning, each with a name, and whether the tests notice them.

    ./roamcast test --mutants [ROOM ...]

A mutant is a text that stands once in a file of the node, and what stands there instead. One after another is made in a
copy of the checkout, and the tests of its room run until one fails. What survives is either a gap of the tests or
*equivalent*: nothing that anybody may count on differs, for a reason that stands with it.
"""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    name: str
    file: str  # from the checkout's root
    old: str  # stands exactly once in it
    new: str
    does: str  # what is wrong with it then
    equivalent: str = ""  # why nobody can notice; empty: somebody should

    def applied(self, text: str) -> str:
        """The file's text with the change. ValueError, in a sentence, if it does not apply."""
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"mutant {self.name!r}: {self.old!r} stands {count} times in {self.file}, not once; "
                             f"give it the text that stands there now")
        return text.replace(self.old, self.new)


def rooms() -> dict[str, list[Mutant]]:
    """The mutants of each room, by its name."""
    from tests.mutants import channel, reconcile, recovery, roaming, routing, trees

    return {"reconcile": reconcile.MUTANTS, "routing": routing.MUTANTS, "trees": trees.MUTANTS,
            "roaming": roaming.MUTANTS, "recovery": recovery.MUTANTS, "channel": channel.MUTANTS}
