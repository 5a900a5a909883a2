"""Builds what `pip install` brings: one package, `roamcast`, in which the rooms are parts.

In the checkout each room is a package of its own (`from node import wire`), for `roamcast` is the launcher there. In
other people's site-packages, names like `node` and `cli` are not ours to take: the wheel has roamcast/node/, and its
modules say `from roamcast.node import wire`. Nothing else about them differs, not even the number of a line.
"""
import ast
import re
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOMS = ("node", "mobility", "topologies", "emulation", "analysis", "cli")
_IMPORT = re.compile(rf"\b(?P<verb>from|import) (?P<module>(?:{'|'.join(ROOMS)})\b[.\w]*)(?P<named> as \w+)?")


class Build(build_py):
    """The rooms in one package, with their imports rewritten."""

    def run(self) -> None:
        if self.editable_mode:
            raise SystemExit("roamcast: cannot be installed with -e: a checkout runs as it is, by ./roamcast, and its programs "
                             "with PYTHONPATH set to it; leave -e out to install a copy")
        shutil.rmtree(self.build_lib, ignore_errors=True)  # what an earlier build left there would be installed, too
        super().run()
        package = Path(self.build_lib, "roamcast")
        for file in [*package.rglob("*.py"), *package.rglob("*.pyi")]:
            file.write_text(inside(file.read_text(encoding="utf-8")), encoding="utf-8")
        (package / "py.typed").touch()  # type checkers read our types (PEP 561)

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        return [(package, "__init__", "roamcast.py")] if package == "roamcast" else super().find_package_modules(package, package_dir)


def inside(text: str) -> str:
    """A module as it stands inside the package. Only lines that import a room change."""
    lines = text.split("\n")
    for item in ast.walk(ast.parse(text)):
        if isinstance(item, ast.ImportFrom):
            names = [item.module or ""]
        else:
            names = [alias.name for alias in item.names] if isinstance(item, ast.Import) else []
        if any(name.partition(".")[0] in ROOMS for name in names):
            line, at = lines[item.lineno - 1], item.col_offset
            lines[item.lineno - 1] = line[:at] + _IMPORT.sub(_qualified, line[at:], count=1)
    return "\n".join(lines)


def _qualified(found: re.Match[str]) -> str:
    verb, module, named = found["verb"], found["module"], found["named"] or ""
    if verb == "import" and not named:
        if "." in module:
            raise SystemExit(f"setup.py: import {module}: say from where, or as what: it would bind roamcast instead")
        named = f" as {module}"
    return f"{verb} roamcast.{module}{named}"


rooms = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])
setup(packages=["roamcast", *(f"roamcast.{room}" for room in rooms)],
      package_dir={f"roamcast.{room}": room for room in ROOMS}, cmdclass={"build_py": Build})
