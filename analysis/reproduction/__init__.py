"""Evaluations run again: a sweep, the points of its figures, verdicts on what a paper states, and a page."""
