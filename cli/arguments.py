"""The command line's parser: argparse, whose refusals are sentences like all others.

Its own say "argument --seed: invalid int value: 'x'" below several lines of usage, and its numbers are Python's, which
may be nan, 1_000 or digits of any script.
"""
from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar, overload

from cli.errors import UserError

N = TypeVar("N")
LONGEST_SHOWN = 60  # characters of what was typed
# What argparse says, and the sentence in its place.
_SAYINGS = tuple((re.compile(pattern, re.DOTALL), sentence) for pattern, sentence in (
    (r"argument (?P<key>\S+): expected .*argument", "{key}: found nothing after it; give a value"),
    (r"argument (?P<key>\S+): not allowed with argument (?P<other>\S+)", "{key}: found together with {other}; use one of the two"),
    (r"argument (?P<key>\S+): invalid choice: (?P<value>.*) \(choose from (?P<known>.*)\)", "{key}: found {value}; give one of {known}"),
    (r"argument (?P<key>\S+): ignored explicit argument (?P<value>.*)", "{key}: found {value} after it; it takes no value"),
    (r"argument (?P<key>\S+): (?P<told>.*)", "{key}: {told}"),
    (r"one of the arguments (?P<known>.*) is required", "found none of {known}; give one of them"),
    (r"the following arguments are required: (?P<known>.*)", "found no {known}; give it"),
))


class Parser(argparse.ArgumentParser):
    """Raises UserError where argparse would print its usage and leave. `int` and `float` are numbers as people write them,
    and an option stands there once, unless it gathers values (action "append")."""

    def __init__(self, prog: str, description: str, passes_on: bool = False, **more: Any) -> None:
        """`passes_on`: what is unknown is for another program, and comes back from parse_known_args. `more`: what argparse
        gives its subparsers, in some versions."""
        super().__init__(prog, description=description, allow_abbrev=False, **more)  # or --all would allow commands
        self.given: set[str] = set()  # names under which options were given
        self.register("type", int, _whole)
        self.register("type", float, _finite)
        for action, once in ((None, _StoreOnce), ("store", _StoreOnce), ("store_true", _TrueOnce)):
            self.register("action", action, once)
        self._passes_on = passes_on

    @overload
    def parse_known_args(self, args: Iterable[str] | None = None, namespace: None = None
                         ) -> tuple[argparse.Namespace, list[str]]: ...
    @overload
    def parse_known_args(self, args: Iterable[str] | None, namespace: N) -> tuple[N, list[str]]: ...
    @overload
    def parse_known_args(self, *, namespace: N) -> tuple[N, list[str]]: ...
    def parse_known_args(self, args: Iterable[str] | None = None, namespace: object = None) -> tuple[object, list[str]]:
        """Of subcommands, too, each of which calls this of its own."""
        self.given.clear()
        found, others = super().parse_known_args(args, namespace)
        if others and not self._passes_on:
            self._refuse(f"found {_shown(others[0])}, {self._strange(others[0])}")
        return found, others

    def error(self, message: str) -> NoReturn:
        for pattern, sentence in _SAYINGS:
            if match := pattern.fullmatch(message):
                self._refuse(sentence.format(**match.groupdict()))
        self._refuse(message)

    def _refuse(self, sentence: str) -> NoReturn:
        raise UserError(f"{sentence} (`{self.prog} --help` lists all)")

    def _strange(self, word: str) -> str:
        """What an argument is that nobody asked for, and what would do."""
        if not word.startswith("-"):
            return "which is one too many; leave it out, or put quotes around words that belong together"
        known, word = self._option_string_actions, word.partition("=")[0]
        near = [option for option in known if option.startswith(word) and word != "--"] or get_close_matches(word, known, 1)
        return f"an unknown option; {'did you mean ' + ' or '.join(near) + '?' if near else 'leave it out'}"


def _once(action: argparse.Action, parser: argparse.ArgumentParser, option: str | None) -> None:
    """Refuse an option a second time: the last would win, and nobody would hear of the first."""
    if option is None or not isinstance(parser, Parser):
        return
    if action.dest in parser.given:
        parser.error(f"{option}: found twice; give it once")
    parser.given.add(action.dest)


class _StoreOnce(argparse._StoreAction):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: str | Sequence[Any] | None,
                 option_string: str | None = None) -> None:
        _once(self, parser, option_string)
        super().__call__(parser, namespace, values, option_string)


class _TrueOnce(argparse._StoreTrueAction):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: str | Sequence[Any] | None,
                 option_string: str | None = None) -> None:
        _once(self, parser, option_string)
        super().__call__(parser, namespace, values, option_string)


def number(least: float, most: float, what: str = "a number") -> Callable[[str], float]:
    """The type of an option that takes a number from `least` to `most`; `what` it is, with its unit."""
    return _within(_finite, least, most, what)


def whole(least: int, most: int, what: str = "a whole number") -> Callable[[str], int]:
    """Likewise for a whole number."""
    return _within(_whole, least, most, what)


def _within(read: Callable[[str], Any], least: float, most: float, what: str) -> Callable[[str], Any]:
    span = f"from {least:.15g} to {most:.15g}"

    def convert(text: str) -> Any:
        if least <= (value := read(text)) <= most:
            return value
        raise argparse.ArgumentTypeError(f"found {_shown(text)}; {what}, {span}")

    return convert


def _whole(text: str) -> int:
    if re.fullmatch(r"[-+]?[0-9]{1,30}", text, re.ASCII):
        return int(text)
    raise argparse.ArgumentTypeError(f"found {_shown(text)}; give a whole number")


def _finite(text: str) -> float:
    if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text, re.ASCII) and math.isfinite(value := float(text)):
        return value
    raise argparse.ArgumentTypeError(f"found {_shown(text)}; give a number")


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN - 3] + "...", ensure_ascii=False)
