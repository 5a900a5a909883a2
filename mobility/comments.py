"""What the comments of a BonnMotion file say of its columns and units, where that is not how it is read.

`numpy.savetxt(.., header="x y t")` writes such a comment, and so do many scripts. Nobody reads it but people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MOST = 100  # comments of a file that are looked at
_LONGEST = 200  # characters
_SEVERAL = 3  # hosts, from which on comments before each are no accident
_READ = ("t", "x", "y", "z")
# a word for a column -> what it is
_COLUMNS = {
    **dict.fromkeys(("t", "time", "times", "timestamp"), "t"), "x": "x", "y": "y", "z": "z",
    **dict.fromkeys(("lat", "latitude", "lon", "lng", "longitude"), "degrees"), **dict.fromkeys(("id", "node", "host", "user", "vehicle"), "id"),
    **dict.fromkeys(("speed", "v", "velocity", "heading", "bearing", "angle", "status", "state"), "other"),
}
_UNIT = r"(ms|msec|milliseconds|us|min|minutes|hours|mm|cm|km|kilometers|ft|feet|miles|deg|degrees)"
_OTHER_UNIT = re.compile(rf"[\[(/]\s*{_UNIT}\s*[\])/]|[a-z]_{_UNIT}\b|\bin\s+{_UNIT}\b", re.IGNORECASE)


def doubts(comments: Sequence[tuple[int, str]], width: int, status: bool = False) -> Iterator[str]:
    """`comments`: number of the line and text. `width`: numbers of a waypoint; the last is a status, not z, with `status`."""
    for number, text in comments:
        if found := _OTHER_UNIT.search(text[:_LONGEST]):
            unit = next(group for group in found.groups() if group)
            yield f"its comment in line {number} speaks of {unit}: times are read in s and places in m all the same"
            return
        words = _columns(text[:_LONGEST])
        read = [*_READ[:width - status], *["other"] * status]
        if len(words) >= 3 and [_COLUMNS[word.lower()] for word in words] != read:
            yield (f"its comment in line {number} names columns {', '.join(words)}: they are read as "
                   f"{', '.join([*_READ[:width - status], *['status'] * status])} all the same; reorder the columns if that is wrong")
            return


def labels(comments: Sequence[tuple[int, str]], hosts: Sequence[int]) -> Iterator[str]:
    """Comments before each host that could be its name, `# ann`, unless they number hosts as they are numbered here.

    `hosts`: the lines of the hosts.
    """
    texts = {number: text.strip("# \t\r:") for number, text in comments}
    before = [texts.get(line - 1, "") for line in hosts[:MOST]]
    if len(before) < _SEVERAL or not all(before) or len(set(before)) < len(before):
        return
    numbers = [re.findall(r"\d+", text)[-1:] for text in before]
    if numbers != [[str(host)] for host in range(len(before))]:
        yield (f"a comment stands before each host, as its name could (line {hosts[0] - 1}): it is not read, and hosts are called 0, 1, 2, .. in "
               "the order of their lines")


def _columns(text: str) -> list[str]:
    """The longest row of words for columns, up to where it begins again (`t0 x0 y0 t1 x1 y1`); empty where it is no such row."""
    longest: list[str] = []
    row: list[str] = []
    for word in [*re.findall(r"[A-Za-z]+", re.sub(r"[\[(][^\[\]()]*[\])]", "", text)), ""]:
        if word.lower() in _COLUMNS:
            row.append(word)
            continue
        longest, row = max(longest, row, key=len), []
    kinds = [_COLUMNS[word.lower()] for word in longest]
    return longest[:kinds.index(kinds[0], 1)] if kinds[:1] and kinds[0] in kinds[1:] else longest
