"""Lists of seeds as people write them: 1-30, or 1,4,10-12."""

from __future__ import annotations

import re

MOST = 1_000_000  # seeds in one list
LARGEST = 2**63 - 1
_ONE = re.compile(r"([0-9]{1,20})(?:-([0-9]{1,20}))?", re.ASCII)
FORM = 'give numbers and ranges, such as "1-30" or "1,4,10-12"'


def seeds(text: str) -> tuple[int, ...]:
    """The seeds in the order of the text. Raises ValueError: "found ...; what would do"."""
    spans = []
    for part in text.split(","):
        if not (match := _ONE.fullmatch(part.strip())):
            raise ValueError(f"found {_shown(text)}; {FORM}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f'found the range "{part.strip()}", which runs backwards; give "{last}-{first}"')
        if last > LARGEST:
            raise ValueError(f"found seed {last}; expected at most {LARGEST}")
        spans.append(range(first, last + 1))
    if (count := sum(map(len, spans))) > MOST:
        raise ValueError(f"found {count:,} seeds; give at most {MOST:,}")
    found = tuple(seed for span in spans for seed in span)
    if len(set(found)) < len(found):
        twice = next(seed for at, seed in enumerate(found) if seed in found[:at])
        raise ValueError(f"found seed {twice} twice; give each once")
    return found


def _shown(text: str) -> str:
    return f'"{text if len(text) <= 60 else text[:57] + "..."}"' if text.isprintable() else repr(text[:57])
