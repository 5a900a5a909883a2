"""The text form of filters, as people type it.

    filter     = "*" | constraint { "and" constraint }
    constraint = name ( comparison value | "exists" | "in" "[" value { "," value } "]" )
    comparison = "=" | "!=" | "<" | "<=" | ">" | ">=" | "prefix" | "suffix" | "contains"
    name       = a letter or _ followed by letters, digits and _ . : -     | text
    value      = text | number | "true" | "false" | bytes
    text       = "..." or '...' with the escapes \\" \\' \\\\ \\n \\r \\t \\uXXXX \\UXXXXXXXX
    number     = 30, -7, 2.5, 1e-3                 bytes = 0x and pairs of hex digits: 0xdeadbeef

Words may be in capitals. A name that is one of the words, or has other letters, is written as text: `"in" = 3`. `*` is
the filter without constraints, which matches every event. language.py defines the meaning.
"""
from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from node.filters import dialects
from node.filters.language import (
    ESCAPES,
    OPERATORS,
    WORDS,
    Constraint,
    Filter,
    FilterError,
    Value,
)
from node.schema.numbers import beyond_doubles

MAX_TEXT = 65536  # characters read

_TOKEN = re.compile(r"""
      (?P<space>  \s+ )
    | (?P<text>   "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<bytes>  0[xX][0-9a-zA-Z_]* )
    | (?P<number> [-+]? (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][-+]?[0-9]+)? (?![\w.]) )
    | (?P<word>   [A-Za-z_][A-Za-z0-9_.:-]* )
    | (?P<sign>   <= | >= | != | == | <> | && | \|\| | [=<>\[\],*()!] )
""", re.VERBOSE | re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
# What people type who know another language, and what they would have to type here.
_HINTS = {
    "==": "write `=`", "<>": "write `!=`", "&&": "write `and`", "!": "write `!=`, or subscribe without it",
    "||": "there is no `or`: subscribe once for each alternative",
    "or": "there is no `or`: subscribe once for each alternative",
    "not": "there is no `not`: write `!=`", "(": "there are no parentheses: join constraints with `and`",
}
_COMPARISONS = [op for op in OPERATORS if op not in ("exists", "in")]


class Token(NamedTuple):
    kind: str  # a group of _TOKEN, or "end"
    text: str
    column: int  # from 1

    @property
    def word(self) -> str:
        """The token as a word or sign of the grammar, in small letters; empty for values."""
        return self.text.lower() if self.kind in ("word", "sign") else ""


def parse(text: str) -> Filter:
    """Parse a filter. Raises FilterError with the column, what was found there and what to write. If the text looks like
    another language (dialects.py), the error says how to write it here."""
    try:
        return _Parser(_tokens(text)).filter()
    except _Unread as error:
        if (cure := dialects.cure(text)) is None:
            raise FilterError(f"{error.found}; {error.cure}") from None
        raise FilterError(f"{error.found}; {cure}") from None


class _Unread(FilterError):
    """A place that the grammar does not know: what stands there, and what would do."""

    def __init__(self, found: str, cure: str) -> None:
        super().__init__(f"{found}; {cure}")
        self.found, self.cure = found, cure


def _tokens(text: str) -> list[Token]:
    if len(text) > MAX_TEXT:
        raise FilterError(f"found a filter of {len(text)} characters; expected at most {MAX_TEXT}")
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            if text[at] in "\"'":
                raise _Unread(f"column {at + 1}: found a text without a closing {text[at]}", f"write {text[at]} at its end")
            start = text[at:].split(maxsplit=1)[0]
            raise _Unread(f"column {at + 1}: found `{start[:40]}`, which is not a name, operator or value",
                          "put text, and names with unusual letters, in quotes")
        kind = str(found.lastgroup)  # every alternative is a group
        if kind != "space":
            tokens.append(Token(kind, found.group(), at + 1))
        at = found.end()
    tokens.append(Token("end", "", len(text) + 1))
    return tokens


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def filter(self) -> Filter:
        if self._peek().word == "*":
            self._take()
            self._expect_end("the end, because `*` is a whole filter")
            return Filter()
        constraints = [self._constraint()]
        while self._peek().word == "and":
            self._take()
            constraints.append(self._constraint())
        self._expect_end("`and` or the end")
        return Filter(constraints)

    def _constraint(self) -> Constraint:
        start = self._peek()
        name = self._name()
        token = self._peek()
        op = token.word
        if op in ("exists", "in", *_COMPARISONS):
            self._take()
        else:
            self._refuse(f"one of {' '.join(OPERATORS)}")
        values = []
        if op == "in":
            values = self._choices()
        elif op != "exists":
            values = [self._value()]
        try:
            return Constraint(name, op, values)
        except FilterError as error:
            raise FilterError(f"column {start.column}: {error}") from None

    def _name(self) -> str:
        token = self._peek()
        if token.kind == "text":
            return _unquoted(self._take())
        if token.kind == "word" and token.text.endswith(":"):
            self._refuse(f"a name that does not end in `:` (put it in quotes if you mean one: \"{token.text}\")")
        if token.kind == "word" and token.word not in WORDS:
            return self._take().text
        if token.kind == "word":
            self._refuse(f"the name of an attribute (put it in quotes if you mean one: \"{token.text}\")")
        self._refuse("the name of an attribute" + ("" if self._at else ", or `*` for all events"))

    def _choices(self) -> list[Value]:
        if self._peek().word != "[":
            self._refuse("`[`, as in [1, 2]")
        self._take()
        values = [self._value()]
        while self._peek().word == ",":
            self._take()
            values.append(self._value())
        if self._peek().word != "]":
            self._refuse("`,` or `]`")
        self._take()
        return values

    def _value(self) -> Value:
        token = self._peek()
        if token.kind == "text":
            return _unquoted(self._take())
        if token.kind == "number":
            return _number(self._take())
        if token.kind == "bytes":
            return _bytes(self._take())
        if token.word in ("true", "false"):
            return self._take().word == "true"
        hint = f" (put text in quotes: \"{token.text}\")" if token.kind == "word" else ""
        self._refuse(f"a value: \"text\", a number, true, false or 0x...{hint}")

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect_end(self, wanted: str) -> None:
        if self._peek().kind != "end":
            self._refuse(wanted)

    def _refuse(self, wanted: str) -> NoReturn:
        token = self._peek()
        found = "found the end" if token.kind == "end" else f"found `{token.text[:40]}`"
        cure = _HINTS.get(token.word) or f"expected {wanted}"
        raise _Unread(f"column {token.column}: {found}", cure)


def _unquoted(token: Token) -> str:
    def plain(escape: re.Match[str]) -> str:
        short, long, letter = escape.groups()
        where = f"column {token.column + 1 + escape.start()}"
        if letter is not None:
            if letter not in ESCAPES:
                known = r"\" \' \\ \n \r \t \uXXXX"
                raise FilterError(f"{where}: found `\\{letter}`, which is not an escape; use {known}")
            return ESCAPES[letter]
        code = int(short or long, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise FilterError(f"{where}: found `{escape.group()}`, which is not a character; expected a code point outside D800 to DFFF, up to 10FFFF")
        return chr(code)

    return _ESCAPE.sub(plain, token.text[1:-1])


def _number(token: Token) -> int | float:
    if len(token.text) > 400:
        raise FilterError(f"column {token.column}: found a number of {len(token.text)} characters; expected at most 400")
    try:
        return int(token.text)
    except ValueError:
        value = float(token.text)
    if value == 0.0 and re.search("[1-9]", re.split("[eE]", token.text)[0]):
        raise FilterError(f"column {token.column}: found `{token.text[:40]}`, which is too close to 0 to tell apart; write 0")
    if beyond_doubles(token.text):
        raise FilterError(f"column {token.column}: found `{token.text[:40]}`, which has more digits than a number can hold; write {value!r}, "
                          "its nearest value")
    return value


def _bytes(token: Token) -> bytes:
    try:
        return bytes.fromhex(token.text[2:])
    except ValueError:
        raise FilterError(f"column {token.column}: found `{token.text[:40]}`, which is not bytes; "
                          "write pairs of hex digits, as in 0xdeadbeef") from None
