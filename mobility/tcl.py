"""What a line of an ns-2 file says, as far as lines of plain Tcl can say it.

No Tcl is run here. A line is a place, a leg, something known not to be movement, or refused: a loop, a
variable or a procedure may move nodes in ways that nobody would notice until the figures are wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mobility.textfile import FARTHEST, NotUnderstood, TraceError

MOST_JOINED = 1 << 20  # characters
PLAIN = (
    "only plain lines can be read: have the script print its `$node_(3) set X_ ..` and `setdest` lines with `puts`, "
    'with numbers in place of variables, as in `$ns_ at 2.0 "$node_(3) setdest 90.4 44.9 1.37"`'
)
# any array or variable name will do: $node_(3), $n(3), $node(3), $n3
_NODE = r"\$[A-Za-z_]+(?:\([^()$\[\]\s]{1,64}\)|\d{1,64})"
NODE = re.compile(r"\$([A-Za-z_]+)(?:\(([^()$\[\]\s]{1,64})\)|(\d{1,64}))")
_PLACE = re.compile(rf"({_NODE})\s+set\s+([XYZ])_\s+([^\s;\"\\\[\]{{}}]+)\s*(?:;\s*)?(?:;?#.*)?")
_LEG = re.compile(
    rf"\$\w+\s+at\s+(\S+)\s+[\"{{]\s*\\?({_NODE})\s+setdest\s([^\";{{}}\[\]\\]+)(?:;\s*)?[\"}}]+\s*(?:;\s*)?(?:#.*)?"
)
_CONTROL = frozenset(
    "for foreach while if else elseif proc expr eval source incr append lappend lset array switch return break "
    "continue catch uplevel upvar global variable namespace package exec rename time after interp apply subst "
    "dict lassign unset Class oo::class method instproc } {".split()
)
_WORD = r"[^\s$\[\]{}\";]+"  # of Tcl, in which nothing is put in place of anything
_ID = rf"\$\w+(?:\({_WORD}\))?"
# Commands that are no movement, matched as a whole. Those of the first list are as usual in such a file as
# movement is; the others are reported.
_USUAL = tuple(map(re.compile, (
    r"set\s+god_?\s+\[\s*God\s+instance\s*\]",
    r"\$god_?\s+(?:set-dist|new_node)\s.*",
    rf"{_NODE}\s+random-motion\s+0",
    rf"\$\w+\s+initial_node_pos\s+{_NODE}\s+{_WORD}",
)))
_MADE = re.compile(rf"set\s+(\w+(?:\({_WORD}\))?)\s+\[\s*\$\w+\s+node\s*\]")
_COUNT = re.compile(r"(create-god|set\s+\w+\((?:nn|num_?nodes)\))\s+(\d{1,9})", re.IGNORECASE)
_GOD = re.compile(r"(?:\$\w+\s+at\s+\S+\s+\"\s*)?\$god_?\s+set-dist\s+\d+\s+\d+\s+\d+\s*\"?")
# SUMO's traceExporter: when a car is there, by an array of its own
_SWITCH = re.compile(rf"\$\w+\s+at\s+(\S+)\s+[\"{{]\s*\\?\$g\(({_WORD[:-2]}()]+)\)\s+(start|stop)\s*[\"}}]\s*(?:;\s*)?(?:#.*)?")
_STATUS = (re.compile(rf"set\s+RoutingAgent\s+\[{_NODE}\s+agent\s+\d+\]"),
           re.compile(r"\$RoutingAgent\s+(?:de)?activate"))
_NO_MOVEMENT = tuple((re.compile(sign), what) for sign, what in (
    (rf"set\s+{_WORD}\s+{_WORD}", "settings"),
    (rf"set\s+\w+(?:\({_WORD}\))?\s+\[\s*new\s+\S+(?:\s+{_WORD})*\s*\]", "objects"),
    (r"puts\s+(?:-nonewline\s+)?(?:stdout\s+|stderr\s+)?(?:\"[^\"\[]*\"|\{[^{}]*\}|" + _WORD + ")", "output"),
    (rf"{_ID}\s+(?:start|stop|reset|halt|run|flush-trace|label|color|shape|add-mark|delete-mark)(?:\s+{_WORD})*",
     "starts and stops of traffic and nodes (all hosts stay throughout), labels, the end"),
    (rf"{_ID}\s+(?:attach|attach-agent|connect|node-config|duplex-link|simplex-link|trace-all|namtrace-all|"
     r"namtrace-all-wireless|load_flatgrid|use-newtrace)(?:\s+[^\[\]{}\";]+)?", "agents and links"),
    (rf"{_ID}\s+set\s+(?![XYZxyz]_?\s)\w+\s+{_WORD}", "settings of objects"),
    (rf"(?:Phy|Mac|Antenna|Propagation|Agent|Queue|LL|Application|ErrorModel)/\S+\s+set\s+\w+\s+{_WORD}", "settings"),
))


@dataclass(slots=True)
class Place:
    """`$node_(3) set X_ 83.4`; axis 0, 1 or 2."""

    node: str
    axis: int
    value: float


@dataclass(slots=True)
class Leg:
    """`$ns_ at 2.0 "$node_(3) setdest 90.4 44.9 1.37"`; three or four numbers."""

    node: str
    time: float
    numbers: tuple[float, ...]


@dataclass(slots=True)
class Switch:
    """`$ns_ at 8.0 "$g(1) start"`: from then on the node is there, until its `stop`."""

    node: str  # its id alone
    time: float
    on: bool


@dataclass(slots=True)
class Made:
    """`set node_(3) [$ns_ node]`: ns-2 has that node, whether it is placed or not."""

    node: str  # $node_(3)


@dataclass(slots=True)
class Count:
    """`create-god 50`, `set val(nn) 50`: how many nodes there should be."""

    words: str
    nodes: int


@dataclass(slots=True)
class Aside:
    """A command that is not movement; `what` it is about, "" for what any such file may contain."""

    what: str


STATUS = "a node's status"


def joined(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines and the numbers at which they begin; one that ends in a backslash continues in the next."""
    begin, parts, length = 0, [], 0
    for number, line in enumerate(lines, 1):
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            begin, length = begin or number, length + len(line)
            parts.append(line[:-1])
            if length > MOST_JOINED:
                raise TraceError(path, begin, f"found more than {MOST_JOINED >> 20} MiB in lines continued by a backslash; shorten them")
            continue
        yield (begin, " ".join((*parts, line))) if begin else (number, line)
        begin, parts, length = 0, [], 0
    if begin:
        yield begin, " ".join(parts)


Said = Place | Leg | Switch | Made | Count | Aside


def understand(path: Path, number: int, line: str) -> list[Said]:
    """What a line says, in order; nothing for a blank line or a comment. Raises TraceError."""
    text = line.strip()
    if not text or text.startswith("#"):
        return []
    if match := _LEG.fullmatch(text):
        return [_leg(path, number, match[1], match[2], match[3].split())]
    if match := _PLACE.fullmatch(text):
        return [_place(path, number, match[1], match[2], match[3])]
    if match := _SWITCH.fullmatch(text):
        return [Switch(match[2], as_number(path, number, match[1]), match[3] == "start")]
    if _GOD.fullmatch(text):
        return []
    return [_other(path, number, command) for command in _commands(path, number, text)]


def _commands(path: Path, number: int, text: str) -> Iterator[str]:
    """The commands of a line, apart by `;`; those in quotes after `at TIME` each with it before."""
    _refuse_control(path, number, text)
    for command in _split(path, number, text):
        match = re.fullmatch(r"(\$\w+\s+at\s+\S+)\s+[\"{](.*)[\"}]+", command)
        if not match:
            yield command
            continue
        _refuse_control(path, number, match[2])
        for inner in _split(path, number, match[2].replace("\\$", "$").replace('\\"', '"').rstrip('"')):
            yield f"{match[1]} {inner}"


def _split(path: Path, number: int, text: str) -> Iterator[str]:
    """Tcl's commands in a line; a comment ends it."""
    rest = text.strip()
    while rest and not rest.startswith("#"):
        match = re.match(r"(?:\"(?:[^\"\\]|\\.)*\"|\{[^{}]*\}|[^\";{}])+", rest)
        if not match:
            raise NotUnderstood(path, number, f"found unclosed quotes or braces; {PLAIN}")
        command = re.sub(r"\s#.*", "", match[0]) if '"' not in match[0] else match[0]
        rest = rest[match.end():]
        if rest and not rest.startswith(";"):
            if set(rest) <= set('" ;') and match[0].lstrip().startswith("$"):  # one quote too many at the end
                rest = ""
            else:
                raise NotUnderstood(path, number, f"found unclosed quotes or braces; {PLAIN}")
        rest = rest.lstrip("; \t")
        if command.strip():
            yield command.strip()


def _refuse_control(path: Path, number: int, text: str) -> None:
    word = text.split(None, 1)[0].lstrip(":") if text.split() else ""
    if word in _CONTROL:
        raise NotUnderstood(path, number, f"found a Tcl script (`{word}`); {PLAIN}")


def _other(path: Path, number: int, command: str) -> Said:
    """A command that is no plain place or leg: a dialect, something beside movement, or an error."""
    _refuse_control(path, number, command)
    words = command.split()
    command = " ".join(words)
    timed = len(words) > 3 and words[0].startswith("$") and words[1] == "at"
    inner = " ".join(words[3:]) if timed else command
    if match := _MADE.fullmatch(inner):
        return Made(f"${match[1]}")
    if match := _COUNT.fullmatch(inner):
        return Count(inner, int(match[2]))
    if aside := _aside(inner):
        return aside
    verbs = words[3:] if timed else words
    if "setdest" in words:
        if not timed or words.index("setdest") != 4:
            raise NotUnderstood(path, number, 'found setdest out of place; expected `$ns_ at TIME "$node_(ID) setdest X Y SPEED"`')
        return _leg(path, number, words[2], words[3], words[5:])
    if len(verbs) >= 3 and verbs[1] == "set" and verbs[2] in ("X_", "Y_", "Z_"):
        if len(verbs) == 3:
            raise TraceError(path, number, f"found {verbs[2]} without a number; expected `set {verbs[2]} 83.4`")
        if timed:
            raise TraceError(
                path, number, f"found {verbs[2]} set at a time; use setdest to move a node after the start"
            )
        if len(verbs) != 4:
            raise TraceError(path, number, f"found {verbs[2]} without exactly one number; {PLAIN}")
        return _place(path, number, verbs[0], verbs[2][0], verbs[3])
    if "$" in command or "[" in command:
        raise NotUnderstood(path, number, f"found a Tcl command that may or may not move nodes; {PLAIN}")
    raise NotUnderstood(path, number, f"found neither movement nor a known ns-2 command; {PLAIN}")


def _aside(command: str) -> Aside | None:
    if any(sign.fullmatch(command) for sign in _USUAL):
        return Aside("")
    if any(sign.fullmatch(command) for sign in _STATUS):
        return Aside(STATUS)
    return next((Aside(what) for sign, what in _NO_MOVEMENT if sign.fullmatch(command)), None)


def _place(path: Path, number: int, node: str, axis: str, value: str) -> Place:
    return Place(_checked(path, number, node), "XYZ".index(axis), as_number(path, number, value))


def _leg(path: Path, number: int, time: str, node: str, words: list[str]) -> Leg:
    numbers = tuple(as_number(path, number, word) for word in words)
    if len(numbers) not in (3, 4):
        raise TraceError(
            path,
            number,
            f"found setdest with {len(numbers)} numbers; expected x y speed, x y z speed (3D) "
            "or x y speed status (DisasterArea)",
        )
    return Leg(_checked(path, number, node), as_number(path, number, time), numbers)


def _checked(path: Path, number: int, word: str) -> str:
    if not NODE.fullmatch(word):
        raise TraceError(path, number, f'found "{word[:40]}"; expected a node, such as $node_(0): {PLAIN}')
    return word


def as_number(path: Path, number: int, word: str) -> float:
    """A finite number within bounds. Raises TraceError."""
    try:
        value = float(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        cure = f"a number: {PLAIN}" if word[:1] in "$[" else "a number"
        raise TraceError(path, number, f'found "{word[:40]}"; expected {cure}')
    if abs(value) > FARTHEST:
        raise TraceError(path, number, f'found "{word[:40]}"; expected a number within +-{FARTHEST:g}')
    return value
