"""CBOR in its one canonical form, of Python's own types only: the bounded decoder for all that strangers send or recorded."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import cbor2


class _NoTags(Mapping[int, NoReturn]):
    """Stands for a decoder of every CBOR tag, and refuses: cbor2 has some that make dates or regexes."""

    def __getitem__(self, tag: int) -> NoReturn:
        raise ValueError(f"tag {tag}")

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


_NO_TAGS = _NoTags()


class NotCanonical(Exception):
    """It is CBOR, in another form than the one that is allowed."""


class NotCbor(Exception):
    """It is no CBOR, or none that is allowed."""


def loads(encoded: bytes, max_depth: int) -> Any:
    """The value that these bytes are. Raises NotCbor and NotCanonical, and nothing else."""
    try:
        value = cbor2.loads(encoded, max_depth=max_depth, allow_indefinite=False, allow_duplicate_keys=False,
                            strict_hashable_types=True, semantic_decoders=_NO_TAGS)
        again = cbor2.dumps(value)
    except (cbor2.CBORError, ValueError, TypeError, OverflowError) as error:
        raise NotCbor(str(error)) from None
    if again != encoded:
        raise NotCanonical
    return value
