"""The instants at which two hosts come into range and leave it, exactly.

While both hosts keep their velocities their squared distance is a quadratic in time, so the
instants are its roots: nothing is stepped over. Candidates come from a spatial index over slabs
of time, so that the cost grows with the encounters and not with hosts squared times time.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from mobility.pieces import Pieces

CONTACT = np.dtype([("i", np.int32), ("j", np.int32), ("up", np.float64), ("down", np.float64)])

# A contact that goes on over a waypoint is found in two parts whose common border is computed
# twice; rounding can leave a gap of some 1e-12 s there, which is no loss of contact.
BORDER = 1e-9  # s
CHUNK = 200_000  # spans worked on at a time, to bound memory
MOST_SLABS = 100_000
MOST_PAIRS = 20_000_000  # near each other at once, to bound memory: 6,000 hosts in one place


class TooDense(Exception):
    """Too many hosts are too close together for their contacts to be counted; str() is one sentence."""


class _Slab(NamedTuple):
    """What moves in one slab of time: pieces, and the disc that holds each host meanwhile."""

    start: float
    end: float
    low: np.ndarray  # (n,) first and last piece of each host in the slab
    high: np.ndarray
    centre: np.ndarray  # (n, d), NaN for a host that is absent throughout
    reach: np.ndarray  # (n,)


def find_contacts(pieces: Pieces, radius: float, start: float, end: float, of: np.ndarray | None = None) -> np.recarray:
    """Record array of i < j (host indices), up, down (s), sorted by up, then i, j.

    Hosts are in contact while both exist and their distance is <= radius; `up` and `down` are
    clipped to [start, end], so a contact that is open at an end of it has that end as its instant.
    A mere touch has up == down. Gaps below 1e-9 s are bridged. Raises ValueError for radius <= 0, and TooDense.

    of: host indices; with them, only contacts of these hosts are found, which costs less.
    """
    if not radius > 0:
        raise ValueError(f"radius: found {radius}; expected above 0 m")
    found = []
    if end > start and len(pieces.first) > 2:
        borders = _slab_borders(pieces, radius, start, end)
        low = np.zeros(len(pieces.first) - 1, dtype=np.intp) + pieces.first[:-1]
        for a, b in itertools.pairwise(borders):
            slab = _slab(pieces, low, a, b)
            found.extend(_contacts_in(pieces, slab, radius, of))
            low = slab.high
    parts = np.concatenate(found) if found else np.empty(0, dtype=CONTACT)
    merged = _merge(parts)
    return merged[np.lexsort((merged["j"], merged["i"], merged["up"]))].view(np.recarray)


def effort(pieces: Pieces, radius: float, start: float, end: float) -> int:
    """How many positions find_contacts looks at, regardless of contacts: hosts times slabs of time."""
    return (len(pieces.first) - 1) * (len(_slab_borders(pieces, radius, start, end)) - 1)


def _slab_borders(pieces: Pieces, radius: float, start: float, end: float) -> np.ndarray:
    """Slabs of time in which most hosts move less than a quarter of the radius.

    Only the cost depends on this choice: a slab's discs hold whatever does happen in it.
    """
    inside = (pieces.end > start) & (pieces.begin < end)
    lasts = np.minimum(pieces.end[inside], end) - np.maximum(pieces.begin[inside], start)
    speed = np.linalg.norm(pieces.velocity[inside], axis=1)
    order = np.argsort(speed)
    share = np.cumsum(lasts[order])
    usual = speed[order][np.searchsorted(share, 0.95 * share[-1])] if len(order) else 0.0
    length = radius / (4 * usual) if usual > 0 else np.inf
    count = int(np.ceil((end - start) / max(length, (end - start) / MOST_SLABS)))
    return np.linspace(start, end, max(1, count) + 1)


def _slab(pieces: Pieces, low: np.ndarray, start: float, end: float) -> _Slab:
    low = _advance(pieces, low, start, closed=True)
    high = _advance(pieces, low, end, closed=False)
    spans = high - low + 1
    index = _ranges(low, spans)
    begin, until = np.maximum(pieces.begin[index], start), np.minimum(pieces.end[index], end)
    ends = np.stack(
        [
            pieces.origin[index] + pieces.velocity[index] * (t - pieces.reference[index])[:, None]
            for t in (begin, until)
        ]
    )
    offset = np.concatenate(([0], np.cumsum(spans)[:-1]))
    # fmin and fmax pass over the NaN of absent pieces
    least = np.fmin.reduceat(ends.min(axis=0), offset)
    most = np.fmax.reduceat(ends.max(axis=0), offset)
    return _Slab(start, end, low, high, (least + most) / 2, np.linalg.norm(most - least, axis=1) / 2)


def _advance(pieces: Pieces, index: np.ndarray, t: float, closed: bool) -> np.ndarray:
    """The piece of each host that holds at `t` (closed) or just before it."""
    index = index.copy()
    ended = np.less_equal if closed else np.less
    late = np.flatnonzero(ended(pieces.end[index], t))
    while len(late):
        index[late] += 1
        late = late[ended(pieces.end[index[late]], t)]
    return index


def _ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, .. (count[0] of them), first[1], ..."""
    total = int(count.sum())
    return np.repeat(first - np.concatenate(([0], np.cumsum(count)[:-1])), count) + np.arange(total)


def _contacts_in(pieces: Pieces, slab: _Slab, radius: float, of: np.ndarray | None) -> list[np.ndarray]:
    pairs = _candidates(slab, radius) if of is None else _candidates_of(slab, radius, of)
    work = (slab.high - slab.low + 1)[pairs].sum(axis=1)
    found, at = [], 0
    borders = np.searchsorted(np.cumsum(work), np.arange(CHUNK, work.sum() + CHUNK, CHUNK)) + 1
    for border in borders:
        if at < len(pairs):
            found.append(_solve(pieces, slab, pairs[at:border], radius))
            at = border
    return found


def _candidates(slab: _Slab, radius: float) -> np.ndarray:
    """(m, 2) of hosts i < j whose discs come within `radius` of each other."""
    present = np.flatnonzero(~np.isnan(slab.centre[:, 0]))
    if len(present) < 2:
        return np.empty((0, 2), dtype=np.intp)
    centre, reach = slab.centre[present], slab.reach[present]
    slack = 1 + 1e-9  # rounding in the discs must not lose a touch
    tree, near = cKDTree(centre), (radius + 2 * reach.max()) * slack
    if len(present) > np.sqrt(2 * MOST_PAIRS) and tree.count_neighbors(tree, near) > 2 * MOST_PAIRS:
        raise TooDense(f"at {slab.start:g} s more than {MOST_PAIRS:,} pairs of hosts are within {near:g} m of each "
                       "other, too many to track; use fewer hosts, a larger area or a shorter range")
    pairs = tree.query_pairs(near, output_type="ndarray")
    apart = np.linalg.norm(centre[pairs[:, 0]] - centre[pairs[:, 1]], axis=1)
    pairs = pairs[apart <= (radius + reach[pairs].sum(axis=1)) * slack]
    return np.asarray(present[pairs])


def _candidates_of(slab: _Slab, radius: float, of: np.ndarray) -> np.ndarray:
    """The same for pairs in which one of these hosts is. Raises TooDense."""
    present, sought = (hosts[~np.isnan(slab.centre[hosts, 0])] for hosts in (np.arange(len(slab.centre)), np.asarray(of, dtype=np.intp)))
    if len(present) < 2 or not len(sought):
        return np.empty((0, 2), dtype=np.intp)
    tree, most = cKDTree(slab.centre[present]), slab.reach[present].max()
    near = (radius + slab.reach[sought] + most) * (1 + 1e-9)
    counts = tree.query_ball_point(slab.centre[sought], near, return_length=True)
    if counts.sum() > MOST_PAIRS:
        raise TooDense(f"at {slab.start:g} s more than {MOST_PAIRS:,} pairs of hosts are near each other, too many to track; use fewer "
                       "hosts, a larger area or a shorter range")
    others = present[np.concatenate(tree.query_ball_point(slab.centre[sought], near)).astype(np.intp)]
    pairs = np.sort(np.column_stack((np.repeat(sought, counts), others)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    apart = np.linalg.norm(slab.centre[pairs[:, 0]] - slab.centre[pairs[:, 1]], axis=1)
    return np.asarray(pairs[apart <= (radius + slab.reach[pairs].sum(axis=1)) * (1 + 1e-9)])


def _solve(pieces: Pieces, slab: _Slab, pairs: np.ndarray, radius: float) -> np.ndarray:
    """The parts of contacts in every span of time in which neither host of a pair turns."""
    pair, p, q = _common_spans(pieces, slab, pairs)
    begin = np.maximum(np.maximum(pieces.begin[p], pieces.begin[q]), slab.start)
    end = np.minimum(np.minimum(pieces.end[p], pieces.end[q]), slab.end)
    at = [pieces.origin[k] + pieces.velocity[k] * (begin - pieces.reference[k])[:, None] for k in (p, q)]
    enter, leave = _within(at[0] - at[1], pieces.velocity[p] - pieces.velocity[q], radius, end - begin)
    hit = enter <= leave  # false for the NaN of absent hosts
    found = np.empty(int(hit.sum()), dtype=CONTACT)
    found["i"], found["j"] = pairs[pair[hit], 0], pairs[pair[hit], 1]
    # a part that fills its span takes the span's own borders, so that parts join without a gap
    found["up"] = begin[hit] + enter[hit]
    found["down"] = np.where(leave[hit] >= (end - begin)[hit], end[hit], begin[hit] + leave[hit])
    return found


def _common_spans(
    pieces: Pieces, slab: _Slab, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row of `pairs`, piece of its one host, piece of its other: once for each piece that begins.

    Every common span begins where one of the two hosts turns; the piece of the other one at that
    instant is found by bisection. (Both turning at once gives the same span twice: harmless.)
    """
    found = []
    for one, other in ((0, 1), (1, 0)):
        low, high = slab.low[pairs], slab.high[pairs]
        counts = high[:, one] - low[:, one] + 1
        pair = np.repeat(np.arange(len(pairs)), counts)
        turning = _ranges(low[:, one], counts)
        meanwhile = _bisect(pieces.begin, low[pair, other], high[pair, other], pieces.begin[turning])
        found.append((pair, turning, meanwhile) if one == 0 else (pair, meanwhile, turning))
    pair, p, q = (np.concatenate(column) for column in zip(*found))
    return pair, p, q


def _bisect(values: np.ndarray, low: np.ndarray, high: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each row the last index in low..high whose value is <= wanted, or low if there is none."""
    while (low < high).any():
        middle = (low + high + 1) // 2
        below = values[middle] <= wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle - 1)
    return low


def _within(offset: np.ndarray, velocity: np.ndarray, radius: float,
            lasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When |offset + velocity * t| <= radius for 0 <= t <= lasts: (enter, leave), enter > leave if never."""
    a = (velocity * velocity).sum(axis=1)
    b = (offset * velocity).sum(axis=1)
    c = (offset * offset).sum(axis=1) - radius * radius
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(b * b - a * c)  # NaN where they never meet
        far = -(b + np.copysign(root, b))  # the root without cancellation; the other from the product
        one, other = far / a, c / far
        enter = np.where(c <= 0, 0.0, np.fmin(one, other))
        leave = np.fmax(one, other)
    enter = np.where(np.isnan(root), np.nan, np.maximum(enter, 0.0))
    leave = np.minimum(leave, lasts)
    still = a == 0
    enter = np.where(still, np.where(c <= 0, 0.0, np.nan), enter)
    leave = np.where(still, lasts, leave)
    return enter, leave


def _merge(parts: np.ndarray) -> np.ndarray:
    """Join the parts of a contact that meet at the borders of spans and slabs."""
    if not len(parts):
        return parts
    parts = parts[np.lexsort((parts["down"], parts["up"], parts["j"], parts["i"]))]
    new = np.ones(len(parts), dtype=bool)
    new[1:] = (
        (parts["i"][1:] != parts["i"][:-1])
        | (parts["j"][1:] != parts["j"][:-1])
        | (parts["up"][1:] > parts["down"][:-1] + BORDER)
    )
    first = np.flatnonzero(new)
    merged = parts[first]
    merged["down"] = np.maximum.reduceat(parts["down"], first)
    return merged
