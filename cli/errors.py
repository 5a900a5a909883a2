"""How a command ends: exit codes, and errors for people."""
from __future__ import annotations

import json

USAGE_ERROR = 2  # something the user can put right; nothing was started
FAILED = 1
INTERRUPTED = 130  # Ctrl-C


class UserError(Exception):
    """What the person in front of the screen can put right; str() says it, one line for each problem."""


def visible(text: str) -> str:
    """Names and texts come from anywhere: what a terminal would obey or hide, line ends apart, is written out (\\u001b)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
