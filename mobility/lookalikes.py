"""Formats of movement and contacts that are recognized but not supported, by how a file begins.

They make errors helpful: what the file is, and how to convert it to a trace that can be read. No error quotes
the file's content.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from mobility.textfile import TraceError, read_lines

ENOUGH = 40  # lines that say something, from the begin of a file
_WIDEST = 4096  # characters of a line that are looked at
_BONNMOTION = "convert it to BonnMotion: one line of `t x y t x y ...` per node, in s and m"
_CONTACTS = "contacts are not supported yet; give movement, as BonnMotion or ns-2"
_DEGREES = f"degrees are not supported yet: project them to meters and {_BONNMOTION}"
_N = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"

# A file whose text holds this ..: what it is, and what to do. The first that fits is told.
_SIGNS: tuple[tuple[str, str, str], ...] = (
    (r"<fcd-export|<timestep\b", "SUMO's floating car data (FCD, XML)",
     "convert it to ns-2 with SUMO's traceExporter.py --ns2mobility-output"),
    (r"<(routes|vehicle|net|trips)\b", "a SUMO file that is not the output of a simulation",
     "run sumo with --fcd-output, then convert that to ns-2 with traceExporter.py --ns2mobility-output"),
    (r"<gpx\b", "GPX, a GPS track", _DEGREES),
    (r"<kml\b|<gx:Track", "KML, a GPS track", _DEGREES),
    (r"<wiseml|<timestamp>|<snapshot\b", "WiseML or Shawn's snapshots", _BONNMOTION),
    (r"<simulation|<position_change>|<mobility>", "ANSim's XML",
     f"export it from BonnMotion again, without SPPXml, or {_BONNMOTION}"),
    (r"<xmlns:xsi|<waypoint\b|<create\b", "SUMO's trace for OMNeT++",
     "convert it to ns-2 with SUMO's traceExporter.py --ns2mobility-output"),
    (r'^\s*\{?\s*"type"\s*:\s*"Feature', "GeoJSON", _DEGREES),
    (r"\A(Geolife trajectory|WGS 84)\b", "Geolife's track (PLT)", _DEGREES),
    (r"\A\s*(MULTI)?(LINESTRING|POINT|POLYGON)\b", "WKT, a map such as The ONE's", f"a map has no times; {_BONNMOTION}"),
    (r"(?m)^node n\d+ \{", "CORE's scenario (.imn)", "give the mobility script that it names (.scen), which is an ns-2 file"),
    (r"^\$G[A-Z]{4},", "NMEA, a GPS track", _DEGREES),
    (r"^timestep_time;", "SUMO's floating car data (FCD, CSV)",
     "run sumo with --fcd-output FILE.xml, then convert that to ns-2 with traceExporter.py --ns2mobility-output"),
    (rf"^{_N}\s+nem:\d+\s", "EMANE's event log (EEL)", _DEGREES),
    (rf"^now=\+?{_N}ns node=\d+ pos=", "ns-3's ascii mobility trace", _BONNMOTION),
    (rf"^\d+\s+{_N}S?\s+\({_N},", "GloMoSim's or QualNet's mobility", _BONNMOTION),
    (rf"^{_N}\s+CONN\s+\S+\s+\S+\s+(up|down)\b", "The ONE's connectivity trace (contacts)", _CONTACTS),
    (rf"^@{_N}\s+\S+\s+<->\s+\S+\s+(up|down)\b", "DTNSim2's connectivity trace (contacts)", _CONTACTS),
    (rf"^\S+\t\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\t{_N}\t", "SUMO's gpsdat", _BONNMOTION),
    (r"^#X\s[^\n]*\n#Y\s", "BonnMotion's interval format", "use the .movements file that it was made from"),
    (r"(?i)^\W{0,2}(no|id|name|lat|lon|latitude|longitude|time|timestamp|date|node|node_?id|user|device|x|y)\W{0,2}"
     r"[,;\t|][^\n]*[,;\t|]?", "CSV with a header", _BONNMOTION),
    (r'^\s*[\[{]\s*("|\{|\[|$)', "JSON", _BONNMOTION),
    (r"^\s*<(\?xml|!DOCTYPE|!--|\w)", "other XML", _BONNMOTION),
    (r'(?m)^\s*(\$\w+\([^)]*\)\s+set\s+[XYZ]_\s|\$\w+\s+at\s+\S+\s+["{])', "an ns-2 file",
     'give format = "ns2"'),
)


def told(lines: Iterable[str], own: str) -> tuple[str, str] | None:
    """(what a text is, what to do with it); None if it is not recognized, or has the format `own`."""
    head: list[str] = []
    for line in lines:
        if line.strip():
            head.append(line[:_WIDEST])
        if len(head) == ENOUGH:
            break
    text = "\n".join(head)
    for sign, name, cure in _SIGNS:
        if re.search(sign, text) and not (own == "ns2" and cure.endswith('"ns2"')):
            return name, cure
    return _table([line for line in head if not line.lstrip().startswith("#")], own)


def _table(rows: Sequence[str], own: str) -> tuple[str, str] | None:
    """What a table of numbers is; only what cannot be a format that is read as well is told."""
    if not rows:
        return None
    if all(re.fullmatch(rf"\s*\S+?\s*([,;|]\s*{_N}\s*){{2,}}", row) for row in rows):
        return "CSV, a table with separators", _BONNMOTION
    words = [row.split() for row in rows]
    widths = {len(row) for row in words}
    if widths == {5} and all(all(map(_whole, row[:3])) for row in words) and not all(
        _number(word) for row in words for word in row
    ):
        return "SocioPatterns' contacts, `t i j Ci Cj`", _CONTACTS
    if len(words) > 1 and len(words[0]) in (6, 8) and {len(row) for row in words[1:]} <= {4, len(words[0]) // 2 + 1}:
        return "The ONE's external movement (a header of bounds, then `t id x y`)", _BONNMOTION
    if own == "ns2" and re.match(rf"\s*({_N}\s+){{2,}}{_N}\s*$", rows[0]) and len(words[0]) % 3 == 0:
        found = columns(words)
        return found or ("a table of numbers, perhaps BonnMotion", 'give format = "bonnmotion" if it is')
    return columns(words)


def columns(words: Sequence[Sequence[str]], begins: Collection[float] = ()) -> tuple[str, str] | None:
    """What a table of numbers is whose lines would each be a BonnMotion host; None if they may be hosts.

    begins: the first numbers of all lines of the file, if the lines can be read as hosts. Then only tables that do not
    look like hosts are reported: the hosts of one trace begin at one time.
    """
    widths = {len(row) for row in words}
    if len(widths) != 1 or not all(_number(word) for row in words for word in row):
        return None
    width = widths.pop()
    table = [[float(word) for word in row] for row in words]
    whole = [all(_whole(row[k]) for row in words) for k in range(width)]
    steady, several = len(begins or {row[0] for row in table}) == 1, len(table) > 1
    if width == 4 and all(abs(row[0]) <= 90 and abs(row[1]) <= 180 and row[3] > 1e8 for row in table):
        return "Cabspotting's GPS track, `latitude longitude occupied time`", _DEGREES
    if width in (6, 7) and all(whole[:6]) and _intervals(table) and (_counted(table) if steady else True):
        return "contact intervals, `i j start end count gap` (Haggle)", _CONTACTS
    if begins and steady:
        return None
    if width in (4, 5) and all(whole[:4]) and _intervals(table) and several:
        return "contact intervals, `i j start end`", _CONTACTS
    if width == 5 and all(whole) and several:
        return "contacts, such as SocioPatterns' `t i j Ci Cj`", _CONTACTS
    if width in (4, 5) and several and (whole[0] or whole[1]):
        return "a table with one place per line, such as `node time x y` or `time node x y`", _BONNMOTION
    if width == 2:
        return "two numbers per line, such as places without times", _BONNMOTION
    if width == 3 and several and not steady:
        if all(whole) and all(row[1] >= 0 and row[2] >= 0 and row[1] != row[2] for row in table):
            return "contacts `t i j` (SocioPatterns), or one node's track, `t x y` per line", (
                f"{_CONTACTS}; a track is one line of a BonnMotion file, with all its waypoints")
        return "one node's track, `t x y` per line", "join its lines into one, which is one node of a BonnMotion file"
    if len(table) > 2 and not steady and 1 < width <= 12:
        return "a table whose lines have equal length and begin with different numbers", _BONNMOTION
    return None


def _intervals(table: Sequence[Sequence[float]]) -> bool:
    return all(0 <= row[0] != row[1] >= 0 and row[2] <= row[3] for row in table)


def _counted(table: Sequence[Sequence[float]]) -> bool:
    """Whether a count of 1 stands where the gap before the contact is 0, as in Haggle's files.

    Their ids are not 0, as a rule. Where the first is 0, as the time 0 of a host would be, one line may be so by chance;
    of several, the contacts of each pair must be counted.
    """
    if not any(row[4] == 1 for row in table) or not all(row[4] >= 1 and (row[4] == 1) == (row[5] == 0) for row in table):
        return False
    if table[0][0] != 0 or len(table) > 1 and all(row[4] == 1 for row in table):
        return True
    last: dict[tuple[float, float], tuple[float, float]] = {}  # count and end of the contact before
    for i, j, start, end, count, gap in (row[:6] for row in table):
        before, until = last.get((i, j), (count - 1, start - gap))
        if (count, gap) != (before + 1, start - until):
            return False
        last[i, j] = count, end
    return len(table) > 1


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _whole(word: str) -> bool:
    return re.fullmatch(r"[-+]?\d+(\.0*)?", word) is not None


def of_file(path: Path, own: str = "") -> tuple[str, str] | None:
    """The same for a file; None also if it cannot be read."""
    try:
        return told(read_lines(path, []), own)
    except TraceError:
        return None
