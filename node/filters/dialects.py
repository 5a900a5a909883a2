"""Recognizes filters in other languages, and says how to write them here.

SQL, MQTT, JSONPath, XPath, C and the forms of `roamcast pub`: if a filter cannot be parsed, its error says how to write
it here, translated where that is easy. Each entry is a pattern and its cure; the first pattern found in the text
applies.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from node.filters.language import is_plain_name, quoted

LONGEST = 200  # characters of a text that is looked at; longer ones get the plain error

_NAME = r"[A-Za-z_][\w.-]*"
_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[-+]?[\d.]+(?:[eE][-+]?\d+)?|[\w.-]+)"""
Cure = str | Callable[[re.Match[str]], str]


def cure(text: str) -> str | None:
    """What to write instead of a text that is not a filter; None if it is not recognized."""
    if len(text) > LONGEST:
        return None
    for pattern, written in _KNOWN:
        if found := pattern.search(text):
            return written if isinstance(written, str) else written(found)
    return None


def _value(raw: str) -> str:
    """A value of another language as it is written here."""
    if raw[0] == "'" == raw[-1] and len(raw) > 1:
        return quoted(raw[1:-1].replace("''", "'"))
    if raw[0] == '"' or re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", raw):
        return raw
    return raw.lower() if raw.lower() in ("true", "false") else quoted(raw)


def _name(raw: str) -> str:
    return raw if is_plain_name(raw) else quoted(raw)


def _choices(found: re.Match[str]) -> str:
    values = ", ".join(map(_value, re.findall(_VALUE, found["values"])))
    if found["no"]:
        return f"there is no `not in`: write `{_name(found['name'])} != ...` for each value, joined with `and`"
    return f"write `{_name(found['name'])} in [{values}]`"


def _like(found: re.Match[str]) -> str:
    name, text = _name(found["name"]), _value(found["value"])[1:-1]
    if found["no"]:
        return "there is no `not`; use `!=`"
    inner = text.strip("%*")
    if re.search(r"[%*_?]", inner) or text in ("%", "*"):
        return f"there are no patterns; write `{name} prefix \"...\"`, `suffix` or `contains`" if inner else \
            f"write `{name} exists`"
    begins, ends = text[:1] in "%*" and text != inner, text[-1:] in "%*" and text != inner
    op = "contains" if begins and ends else "prefix" if ends else "suffix" if begins else "="
    return f"write `{name} {op} \"{inner}\"`"


def _between(found: re.Match[str]) -> str:
    name = _name(found["name"])
    return f"write `{name} >= {_value(found['low'])} and {name} <= {_value(found['high'])}`"


def _null(found: re.Match[str]) -> str:
    if found["no"] or found["op"] in ("!=", "<>"):
        return f"there is no null: write `{_name(found['name'])} exists`"
    return "there is no null, and no filter can match a missing attribute"


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "==": "=", "!=": "!="}
_ALIKE = {"≥": ">=", "≤": "<=", "≠": "!=", "=~": "contains", "^=": "prefix", "$=": "suffix", "*=": "contains",
          "~=": "contains", "~": "contains", "===": "=", "!==": "!=", "eq": "=", "ne": "!=", "gt": ">", "ge": ">=",
          "lt": "<", "le": "<=", "is": "=", "equals": "=", "startswith": "prefix", "starts_with": "prefix", "starts with": "prefix",
          "begins with": "prefix", "endswith": "suffix", "ends_with": "suffix", "ends with": "suffix", "includes": "contains",
          "matches": "contains", "regexp": "contains"}
_NO_PATTERNS = ("=~", "~", "~=", "matches", "regexp")


def _alike(found: re.Match[str]) -> str:
    op = " ".join(found["op"].lower().split())
    said = f"write `{_name(found['name'])} {_ALIKE[op]} {_value(found['value'])}`"
    return f"there are no patterns; `prefix`, `suffix` and `contains` take text as it is: {said}" if op in _NO_PATTERNS else said


def _not(found: re.Match[str]) -> str:
    if found["value"]:
        opposite = {"=": "!=", "==": "=", "!=": "=", "<": ">=", ">": "<=", "<=": ">", ">=": "<"} | {"==": "!="}
        return f"there is no `not`: write `{_name(found['name'])} {opposite[found['op']]} {_value(found['value'])}`"
    return "there is no `not`: write `!=`"


def _topic(found: re.Match[str]) -> str:
    topic = found["topic"]
    whole = re.split(r"[#+*]", topic)[0]
    how = f"prefix {quoted(whole)}" if whole != topic else f"= {quoted(topic)}"
    if whole == "":
        return "this is an MQTT topic; write `*` to match every event"
    return f"this is an MQTT topic, but events have attributes; for an attribute called topic, write `topic {how}`"


def _path(found: re.Match[str]) -> str:
    name = re.split(r"[./@\[\]'\"$]+", found["path"].strip("'\"]"))[-1]
    if not name or not is_plain_name(name):
        return "this is a path into a document; write an attribute by its plain name, as in `kind = \"temp\"`"
    return f"this is a path into a document; write an attribute by its plain name: `{name} = ...`"


def _doubled(found: re.Match[str]) -> str:
    return f"write a quote inside a text with a backslash, or use the other quotes: {_value(found.group())}"


def _known(pattern: str, written: Cure, flags: int = re.IGNORECASE) -> tuple[re.Pattern[str], Cure]:
    return re.compile(pattern, flags), written


_FREE = r"(?<![\w.\"'-])"  # where a word begins
_TEXTS = r"""^(?:[^"']|"[^"]*"|'[^']*')*?"""  # up to a place outside of texts
_KNOWN = [
    _known(r"[“”„‘’‚«»]", "these are typographic quotes; write plain ones: \"...\" or '...'"),
    _known(r"^\s*[{\[]", "this is JSON; write a filter as in `kind = \"temp\" and value > 30`"),
    _known(r"^\s*select\b", "this is an SQL query; write only what follows WHERE, as in `kind = \"temp\"`"),
    _known(r"^\s*where\b\s*", "leave out the word `where`"),
    _known(r"^\s*(?P<topic>[\w$+#*-]+(?:/[\w$+#*. -]*)+|#|\+)\s*$", _topic),
    _known(rf"{_FREE}(?P<name>{_NAME})\s*(?:=~|~|\s(?:matches|regexp?)\s)\s*/", "there are no patterns; `prefix`, `suffix` and "
           "`contains` take text as it is"),
    _known(rf"{_TEXTS}(?:^|\s)(?P<path>(?:\$|/{{1,2}}|@)\.?{_NAME}(?:[./]{_NAME})*|\$\[['\"]{_NAME}['\"]\])", _path),
    _known(rf"{_FREE}(?P<name>{_NAME})\s+(?P<no>not\s+)?in\s*[({{](?P<values>[^()]*)(?:[)}}]|$)", _choices),
    _known(rf"{_FREE}(?P<name>{_NAME})\s*==?\s*(?P<value>[\w.-]+)\*", lambda found: f"write `{_name(found['name'])} prefix {quoted(found['value'])}`"),
    _known(r"'(?:[^'\\]|'')*''(?:[^'\\]|'')*'", _doubled),
    _known(rf"{_FREE}(?P<name>{_NAME})\s+(?P<no>not\s+)?(?:i?like|glob)\s+(?P<value>{_VALUE})", _like),
    _known(rf"{_FREE}(?P<name>{_NAME})\s+between\s+(?P<low>{_VALUE})\s+and\s+(?P<high>{_VALUE})", _between),
    _known(rf"{_FREE}(?P<name>{_NAME})\s*(?P<op>is|==?|!=|<>)\s+(?P<no>not\s+)?(?:null|none|nil|undefined)\b", _null),
    _known(rf"(?:^|\band)\s*exists\s*\(?\s*(?P<name>(?!exists\b){_NAME})", lambda found: f"write `{_name(found['name'])} exists`"),
    _known(rf"{_FREE}(?:not\b|!)\s*\(?\s*(?P<name>{_NAME})\s*(?P<op><=|>=|==|!=|=|<|>)\s*(?P<value>{_VALUE})", _not),
    _known(rf"{_FREE}(?P<name>{_NAME})\s*:=\s*(?P<value>{_VALUE})",
           lambda found: f"`:=` is for `roamcast pub`; write `{_name(found['name'])} = {_value(found['value'])}`"),
    _known(rf"^\s*(?P<low>[-+\d.]+)\s*(?P<op><=?|>=?)\s*(?P<name>{_NAME})\s*(?P<op2><=?|>=?)\s*(?P<high>[-+\d.]+)\s*$",
           lambda found: f"write `{_name(found['name'])} {_TURNED[found['op']]} {found['low']} and "
                         f"{_name(found['name'])} {found['op2']} {found['high']}`"),
    _known(rf"^\s*(?P<value>[-+]?[\d.]+|'[^']*'|\"[^\"]*\")\s*(?P<op><=|>=|==|!=|=|<|>)\s*(?P<name>{_NAME})\s*$",
           lambda found: f"the name comes first: write `{_name(found['name'])} {_TURNED[found['op']]} {_value(found['value'])}`"),
    _known(rf"{_FREE}(?P<name>{_NAME})\s*(?P<op>===|!==|=~|\^=|\$=|\*=|~=|~|≥|≤|≠)\s*(?P<value>{_VALUE})", _alike),
    _known(rf"{_FREE}(?P<name>{_NAME})\s+(?P<op>eq|ne|gt|ge|lt|le|is|equals|starts?_?\s?with|startswith|begins\s+with|ends_?\s?with|"
           rf"endswith|includes|matches|regexp)\s+(?P<value>{_VALUE})", _alike),
    _known(rf"^\s*(?P<name>[A-Za-z_][\w.-]*):\s*(?P<value>{_VALUE})\s*$",
           lambda found: f"write `{_name(found['name'])} = {_value(found['value'])}`"),
    _known(rf"{_TEXTS}(?P<at>[,;]|(?<!&)&(?!&))\s*{_NAME}\s*[=<>!]", "join constraints with `and`"),
    _known(rf"{_TEXTS}(?<!\|)\|(?!\|)", "there is no `or`: subscribe once for each alternative"),
]
