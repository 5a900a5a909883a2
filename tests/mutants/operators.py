"""Mutants by chance: an operator of the language changed at one place of a file, drawn by a seed.

Comparisons are flipped, constants are off by one, a `not` is dropped, a call whose value nobody uses is removed, two
statements that follow each other change places.
"""
from __future__ import annotations

import ast
import random
from collections.abc import Iterator

from tests.mutants import ROOT, Mutant

FILES = {"reconcile": "node/reconcile/*.py", "routing": "node/routing/*.py", "trees": "node/trees/*.py", "roaming": "node/roaming/*.py",
         "recovery": "node/recovery/*.py", "channel": "node/[cl][hi]n*s.py"}
FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}


class _Edit:
    """The text of a file, where a node of its tree can be put in the place of another."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """From where to where the node stands, in characters."""
        def at(line: int, column: int) -> int:
            before = "".join(self.lines[:line - 1])
            return len(before) + len(self.lines[line - 1].encode()[:column].decode())
        assert node.end_lineno is not None and node.end_col_offset is not None
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    def whole(self, node: ast.expr | ast.stmt, instead: str) -> str:
        text, (start, end) = "".join(self.lines), self.span(node)
        return text[:start] + instead + text[end:]

    def source(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return "".join(self.lines)[start:end]


def changes(text: str) -> Iterator[tuple[str, int, str]]:
    """Of each place where an operator applies: what is done, its line, the file's text then."""
    edit = _Edit(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in FLIPPED:
            flipped = ast.Compare(node.left, [FLIPPED[type(node.ops[0])]()], node.comparators)
            yield "comparison flipped", node.lineno, edit.whole(node, f"({ast.unparse(flipped)})")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield "constant off by one", node.lineno, edit.whole(node, repr(node.value + 1))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield "not dropped", node.lineno, edit.whole(node, edit.source(node.operand))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield "call removed", node.lineno, edit.whole(node, "pass")
        for body in (getattr(node, name, []) for name in ("body", "orelse")):
            for first, second in zip(body, body[1:]) if isinstance(body, list) else ():
                if isinstance(first, ast.Expr | ast.Assign) and isinstance(second, ast.Expr | ast.Assign) \
                        and not isinstance(first.value, ast.Constant) and not isinstance(node, ast.Module | ast.ClassDef):
                    whole, (_, end) = edit.whole(second, edit.source(first)), edit.span(first)
                    start = edit.span(first)[0]
                    yield "statements swapped", first.lineno, whole[:start] + edit.source(second) + whole[end:]


def sample(rooms: list[str], count: int, seed: int) -> dict[str, list[Mutant]]:
    """So many mutants of these rooms, drawn from all."""
    chance, found = random.Random(seed), []
    for room in rooms:
        for path in sorted(ROOT.glob(FILES[room])):
            text, file = path.read_text(), str(path.relative_to(ROOT))
            found += [(room, Mutant(f"{what}, {path.name}:{line}", file, text, changed, what))
                      for what, line, changed in changes(text) if changed != text]
    drawn = chance.sample(found, min(count, len(found)))
    return {room: [mutant for of, mutant in drawn if of == room] for room in rooms}
