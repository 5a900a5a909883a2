"""What goes wrong for a person who analyses a run."""
from __future__ import annotations


class AnalysisError(Exception):
    """One line: what was wrong, where, and what would do."""
