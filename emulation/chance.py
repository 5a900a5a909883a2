"""Chance without state: draws that depend only on a key and a time.

A stream of random numbers makes two runs differ from the first frame on that one of them sends
more. Here a draw is a hash of (seed, purpose, ids, time), so that two protocols that transmit at
the same moment meet the same channel, whatever they sent before. The hash is the finaliser of
SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
"""
from __future__ import annotations

import random
from statistics import NormalDist

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_TO_UNIT = 2.0**-53
_normal_quantile = NormalDist().inv_cdf


def mix(word: int) -> int:
    """A bijection of 64-bit words in which every input bit moves half of the output bits."""
    word &= _MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def key(seed: int, purpose: str, *ids: int) -> int:
    """A 64-bit key of a seed, a purpose and some ids; the same on every machine."""
    word = mix(seed)
    for part in (int.from_bytes(purpose.encode(), "big"), *ids):
        while True:  # a long purpose is folded in, 64 bits at a time
            word = mix(word + _GOLDEN + (part & _MASK))
            part >>= 64
            if part <= 0:
                break
    return word


def uniform(stream: int, moment: int) -> float:
    """The draw of a key at a moment (an integer: nanoseconds, an index), in [0, 1)."""
    word = (stream + moment * _GOLDEN) & _MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((word ^ (word >> 31)) >> 11) * _TO_UNIT


def normal(stream: int, moment: int) -> float:
    """A standard normal draw of a key at a moment."""
    return _normal_quantile(max(uniform(stream, moment), _TO_UNIT))


def stream(seed: int, purpose: str, *ids: int) -> random.Random:
    """A generator of its own for one purpose, e.g. (seed, "workload", host)."""
    return random.Random("/".join(map(str, (seed, purpose, *ids))))
