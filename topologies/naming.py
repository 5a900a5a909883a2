"""Decides which host is meant by a name or a number, for scenarios and for the command line.

A text is a name, a whole number an id; digits in quotes that are not a name are an id too. If hosts have names that
are numbers but not their own ids (a trace's nodes 1, 2, ..), a bare number could mean either. Then it is refused,
unless `hosts.numbers` says what numbers are. The same applies if names contain numbers (pi1, 1-north, pi1.lan) and an
id would lead to the host with another number.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from functools import cached_property

MOST_SHOWN = 8  # names in one line
_NUMBER = re.compile(r"(?<![0-9])[0-9]{1,9}(?![0-9])")


class NoHost(ValueError):
    """A name or number that means no host, or could mean two; `found` and `cure` go into a problem's line."""

    def __init__(self, found: str, cure: str) -> None:
        super().__init__(f"{found}; {cure}")
        self.found, self.cure = found, cure


class Naming:
    """The hosts of a scenario by name and by id."""

    def __init__(self, names: Sequence[str] | None, count: int = 0, numbers: str | None = None) -> None:
        """`names` of hosts 0, 1, .., or None if they have none. `numbers`: "ids", "names" or None."""
        self.names = None if names is None else list(names)
        self.count = count if names is None else len(names)
        self.numbers = numbers
        self._ids = {name: host for host, name in reversed(list(enumerate(names or ())))}
        self.twofold = any(_is_number(name) and name != str(host) for name, host in self._ids.items())

    def host(self, value: int | str) -> int:
        """The id of the host that a scenario means. It may exceed the last host's id. Raises NoHost."""
        if isinstance(value, str):
            return self._by_text(value)
        if self.numbers == "names" and self.names is not None:
            return self._by_text(str(value))
        if self.twofold and self.numbers is None and (str(value) in self._ids or 0 <= value < self.count):
            raise NoHost(f"{value}, which could be an id or a name: {self.confusion()}", self._say_which(value))
        return value if self.numbers == "ids" else self._undoubted(value, ', or hosts.numbers = "ids"')

    def table(self, key: str) -> int:
        """The same for a table [hosts.KEY], where quotes do not matter: digits are a number. Raises NoHost."""
        return self.host(int(key) if _is_plain_id(key) and (self.twofold or key not in self._ids) else key)

    def who(self, host: int) -> str:
        """A host in a sentence: its id, and its name if it has one."""
        name = self.names[host] if self.names is not None and 0 <= host < self.count else str(host)
        return f"host {host}" if name == str(host) else f'host {host} ("{name}")'

    @property
    def muddled(self) -> bool:
        """Whether an id could be mistaken for another host's name, or for a number in it."""
        return self.twofold or any(self.taken_for(host) is not None for host in self._by_number if 0 <= host < self.count)

    def taken_for(self, host: int) -> int | None:
        """The host whose name contains this id (pi1 for 1), if the host with the id has another number (pi2)."""
        if self.names is None or not 0 <= host < self.count or self._numbered[host] == host:
            return None
        return self._by_number.get(host)

    def confusion(self) -> str:
        """An example of a name that is or contains a number other than its host's id."""
        number = next((name for name, host in self._ids.items() if _is_number(name) and name != str(host)), None)
        if number is None:
            number = (self.names or [])[next(self._by_number[host] for host in self._by_number if self.taken_for(host) is not None)]
        return f'host "{number}" has the id {self._ids[number]}'

    @cached_property
    def _numbered(self) -> list[int | None]:
        """The number by which each host's name tells it from others: the last one that is not the same in all names."""
        found = [[int(number) for number in _NUMBER.findall(name)] for name in self.names or ()]
        while sum(map(bool, found)) > 1 and len({numbers[-1] for numbers in found if numbers}) == 1:
            found = [numbers[:-1] for numbers in found]  # pi1.lan24, pi2.lan24
        return [numbers[-1] if numbers else None for numbers in found]

    @cached_property
    def _by_number(self) -> dict[int, int]:
        """The first host of each of those numbers."""
        return {number: host for host, number in reversed(list(enumerate(self._numbered))) if number is not None}

    def _undoubted(self, host: int, cure: str = "") -> int:
        """The id, unless it could be meant as the number in another host's name. Raises NoHost."""
        if (other := self.taken_for(host)) is None:
            return host
        names = self.names or []
        raise NoHost(
            f'{host}, which is the id of host "{names[host]}" and the number in the name of host "{names[other]}"',
            f'use "{names[other]}" or "{names[host]}", whichever is meant{cure}')

    def _by_text(self, text: str) -> int:
        if text in self._ids:
            return self._ids[text]
        if _is_plain_id(text) and not self.twofold and self.numbers != "names":
            return self._undoubted(int(text))
        if self.names is None:
            raise NoHost(f"{_quoted(text)}, which is no host", "give an id, the hosts have no names")
        near = difflib.get_close_matches(text, self.names[:1000], 1, 0.55) if len(text) <= 64 else []
        shown = ", ".join(self.names[:MOST_SHOWN]) + (f" and {self.count - MOST_SHOWN} more" if self.count > MOST_SHOWN else "")
        raise NoHost(f"{_quoted(text)}, which is no host", f'did you mean "{near[0]}"?' if near else f"known: {shown}")

    def _say_which(self, value: int) -> str:
        """How to say which host is meant by a number."""
        ways = [f'"{value}" in quotes for the host with that name'] if str(value) in self._ids else []
        if self.names is not None and 0 <= value < self.count:
            ways.append(f'"{self.names[value]}" for the one with that id')
        return "use " + " or ".join([*ways, 'hosts.numbers = "names" or "ids" for all numbers'])


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _is_plain_id(text: str) -> bool:
    """Digits as an id is written: 7, not 007."""
    return _is_number(text) and (text == "0" or text[0] != "0") and len(text) < 10


def _quoted(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= 60 else shown[:57] + "..."
