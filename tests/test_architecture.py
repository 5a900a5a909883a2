"""The rooms and the arrows between them, as the design draws them, read from the imports.

Everything is taken from the syntax trees and the file names, so nothing here can be fooled by what
happens to be installed.
"""
from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {  # room -> the rooms that it may know
    "node": set(),
    "mobility": set(),
    "topologies": {"mobility"},
    "emulation": {"node", "topologies", "mobility"},
    "analysis": {"topologies", "mobility"},
    "cli": {"node", "topologies", "mobility", "emulation", "analysis"},
}
MAY_IMPORT_INSIDE = {  # folder of emulation/ -> the folders beside it that it may know; "": what lies in none
    "": {"worlds"},
    "linux": {""},
    "realtime": {"", "linux"},
    "studies": {"", "worlds"},
    "worlds": {"", "linux", "realtime"},
}
WORLDS_THAT_BUILD_ON = {"mininet": {"hwsim"}}  # its radios are the same
MAY_IMPORT_BESIDES = {"emulation/studies": {"analysis"}}  # what runs simulators and counts what came out
MAY_READ = {"analysis": "node.schema", "topologies": "node.schema"}  # of a room that it does not know otherwise: contracts as data
NODE_LIBRARIES = {"cbor2"}
NODE_EDGES = {"node/daemon.py", "node/control.py", "node/client.py", "node/roaming/client.py",  # the shell: trio, sockets and the clock
              *(f"node/shell/{name}.py" for name in ("epoch", "interface", "logs", "radio"))}
# Within the node: its parts, and what a part may import besides its own package. The cores, which know the parts, are
# node/broker.py and node/roaming/device.py. See node/seams.py.
PARTS = ("clients", "courier", "links", "neighbors", "relay", "trees/", "routing/", "reconcile/", "recovery/", "roaming/")
CORES = {"node/broker.py", "node/roaming/device.py", "node/roaming/client.py"}
NOUNS = {"node", "node.airtime", "node.allowance", "node.beacon", "node.bucket", "node.channel", "node.config", "node.environment", "node.event",
         "node.filters", "node.ids", "node.memory", "node.neighbor", "node.parts", "node.reconcile", "node.recovery",
         "node.rhythm", "node.routes", "node.routing.duplicates", "node.routing.table", "node.seams", "node.state",
         "node.trees", "node.window", "node.wire"}
OUTSIDE_WORLD = {"asyncio", "multiprocessing", "select", "selectors", "signal", "socket", "subprocess", "threading",
                 "time", "trio", "datetime", "secrets", "uuid"}
BEFORE_THE_ENVIRONMENT = {"cli/bootstrap.py", "cli/debian.py", "cli/java.py"}  # run by a bare Python
SEALED = ("node/reconcile/*.py", "emulation/studies/**/*.py", "tests/node/histories.py", "tests/node/test_mutations.py",
          "tests/node/test_oracle.py", "tests/node/test_reconcile*.py")
WITHOUT_CIRCLES = ("cli", "emulation", "mobility")
LONGEST = 600  # lines


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything that is imported, also through importlib with a literal name."""
    for item in ast.walk(tree):
        if isinstance(item, ast.Import):
            yield from ((item.lineno, alias.name) for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            assert item.level == 0, f"line {item.lineno}: rooms are imported by their full names"
            yield item.lineno, item.module or ""
        elif isinstance(item, ast.Call) and "import_" in ast.unparse(item.func) and item.args:
            if isinstance(item.args[0], ast.Constant) and isinstance(item.args[0].value, str):
                yield item.lineno, item.args[0].value


def test_every_room_is_there_and_known():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py") if not path.parent.name.startswith(".")}
    assert packages - {"tests"} == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_arrows(room):
    wrong = []
    for path in modules(room):
        for line, name in imports(ast.parse(path.read_text())):
            other = name.partition(".")[0]
            if f"{name}.".startswith(f"{MAY_READ.get(room)}."):
                continue
            known = MAY_IMPORT[room] | {room}.union(*(more for folder, more in MAY_IMPORT_BESIDES.items() if short(path).startswith(f"{folder}/")))
            if other in MAY_IMPORT and other not in known or other == "tests":
                wrong.append(f"{short(path)}:{line} imports {name}")
    assert not wrong


def test_arrows_inside_the_emulation():
    folders = {path.parent.name for path in (ROOT / "emulation").glob("*/__init__.py")}
    assert folders | {""} == set(MAY_IMPORT_INSIDE)
    wrong = []
    for path in modules("emulation"):
        here = path.relative_to(ROOT / "emulation").parts[:-1]
        folder = here[0] if here else ""
        for name in imported(ast.parse(path.read_text()), module_names("emulation")):
            there = name.split(".")[1:]
            other = there[0] if there and there[0] in folders else ""
            if other != folder and other not in MAY_IMPORT_INSIDE[folder]:
                wrong.append(f"{short(path)} imports {name}")
            if folder == other == "worlds" and here[1:2] and there[1] not in {here[1], *WORLDS_THAT_BUILD_ON.get(here[1], ())}:
                wrong.append(f"{short(path)} imports {name}, of another world")
    assert not wrong


@pytest.mark.parametrize("room", WITHOUT_CIRCLES)
def test_modules_do_not_import_each_other_in_circles(room):
    """Imports inside functions count: whatever is loaded late is needed all the same."""
    names = module_names(room)
    order = TopologicalSorter({name: imported(ast.parse(path.read_text()), names) - {name} for name, path in names.items()})
    try:
        order.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def module_names(room: str) -> dict[str, Path]:
    return {module_name(path): path for path in modules(room)}


def imported(tree: ast.AST, names: dict[str, Path]) -> set[str]:
    """Which of these modules are imported; of a package what is asked of it, or the package itself."""
    found = set()
    for item in ast.walk(tree):
        if isinstance(item, ast.Import):
            found |= {alias.name for alias in item.names}
        elif isinstance(item, ast.ImportFrom):
            parts = {f"{item.module}.{alias.name}" for alias in item.names}
            found |= parts & names.keys() or {item.module}
    return found & names.keys()


def test_the_contracts_need_nothing_of_the_node():
    """Who may read node.schema gets no more of the node by it."""
    for path in (ROOT / "node" / "schema").glob("*.py"):
        names = {name.partition(".")[0] for _, name in imports(ast.parse(path.read_text()))
                 if not f"{name}.".startswith("node.schema.")}
        assert names <= sys.stdlib_module_names | {"__future__"} | NODE_LIBRARIES
    assert not list(imports(ast.parse((ROOT / "node" / "__init__.py").read_text())))


def test_a_node_installs_with_two_libraries():
    wrong = []
    for path in modules("node"):
        for line, name in imports(ast.parse(path.read_text())):
            library = name.partition(".")[0]
            if library not in sys.stdlib_module_names | NODE_LIBRARIES | {"node", "__future__"}:
                if not (library == "trio" and short(path) in NODE_EDGES):
                    wrong.append(f"{short(path)}:{line} imports {name}")
    assert not wrong


def test_a_node_has_no_way_out_but_its_environment():
    wrong = []
    for path in modules("node"):
        if short(path) in NODE_EDGES:
            continue
        tree = ast.parse(path.read_text())
        wrong += [f"{short(path)}:{line} imports {name}" for line, name in imports(tree)
                  if name.partition(".")[0] in OUTSIDE_WORLD]
        for item in ast.walk(tree):  # `random.Random` is a type; `random.random()` is the global generator
            if isinstance(item, ast.Attribute) and ast.unparse(item).startswith("random."):
                if ast.unparse(item).split(".")[1] != "Random":
                    wrong.append(f"{short(path)}:{item.lineno} uses {ast.unparse(item)}")
    assert not wrong


def parts() -> list[Path]:
    return [path for path in modules("node") if short(path) not in CORES
            and short(path).removeprefix("node/").removesuffix(".py").startswith(PARTS)]


def test_a_part_imports_no_other_part():
    """But for constants, which are in capitals."""
    wrong = []
    for path in parts():
        own = short(path).rpartition("/")[0].replace("/", ".")
        for item in ast.walk(ast.parse(path.read_text())):
            if not isinstance(item, ast.ImportFrom) or not (item.module or "").startswith("node"):
                continue
            given = {f"node.{alias.name}" for alias in item.names} if item.module == "node" else {item.module}
            if own != "node" and item.module.startswith(own) or given <= NOUNS:
                continue
            if not all(alias.name.isupper() for alias in item.names):
                wrong.append(f"{short(path)}:{item.lineno} imports {', '.join(sorted(given))}")
    assert not wrong


def protocols(room: str) -> dict[str, ast.ClassDef]:
    return {item.name: item for path in modules(room) for item in ast.walk(ast.parse(path.read_text()))
            if isinstance(item, ast.ClassDef) and "Protocol" in map(ast.unparse, item.bases)}


def test_nothing_is_reached_through_what_a_part_may_call():
    """No Protocol gives another one out, but for the world's port, which all parts have; a type checker does the rest."""
    known, wrong = protocols("node"), []
    for name, found in known.items():
        for item in found.body:
            said = item.returns if isinstance(item, ast.FunctionDef) else getattr(item, "annotation", None)
            names = {one.id for one in ast.walk(said) if isinstance(one, ast.Name)} if said is not None else set()
            wrong += [f"{name} gives out {one}" for one in names & set(known) - {"Runtime", "Timer"}]
    assert "Host" in known and not wrong


def test_parts_are_constructed_with_what_is_typed():
    wrong = []
    for path in parts():
        for item in ast.walk(ast.parse(path.read_text())):
            if not isinstance(item, ast.FunctionDef) or item.name != "__init__":
                continue
            for parameter in [*item.args.args[1:], *item.args.kwonlyargs]:
                said = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
                if said in ("", "Any", "object") or parameter.arg == "core":
                    wrong.append(f"{short(path)}:{item.lineno} is given {parameter.arg}: {said or 'anything'}")
            if item.args.vararg or item.args.kwarg:
                wrong.append(f"{short(path)}:{item.lineno} is given whatever there is")
    assert not wrong


def test_a_reconciler_is_no_other_one_and_imports_none():
    """What several of them do is in modules of its own."""
    choices = tomllib.loads((ROOT / "node" / "schema" / "config.toml").read_text())["reconcile"]["choices"]
    made = {choice["part"].partition(":")[::2] for choice in choices.values()}
    wrong = []
    for path in modules("node/reconcile"):
        tree, own = ast.parse(path.read_text()), module_name(path)
        wrong += [f"{short(path)} imports {name}" for name in imported(tree, module_names("node")) - {own}
                  if name in dict(made)]
        wrong += [f"{short(path)}: {item.name} has a base" for item in ast.walk(tree)
                  if isinstance(item, ast.ClassDef) and (own, item.name) in made and item.bases]
    assert len(made) > 4 and not wrong


def is_private(name: str) -> bool:
    """What a NamedTuple has besides is public."""
    return name.startswith("_") and not name.startswith("__") and name not in {"_", "_asdict", "_fields", "_make", "_replace"}


def private_names(found: ast.ClassDef) -> set[str]:
    """Those that a class defines: its methods, and what is assigned in it."""
    names = {item.name for item in ast.walk(found) if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    names |= {item.attr for item in ast.walk(found) if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store)}
    names |= {item.id for item in ast.walk(found) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    return set(filter(is_private, names))


def classes(path: Path) -> list[ast.ClassDef]:
    return [item for item in ast.walk(ast.parse(path.read_text())) if isinstance(item, ast.ClassDef)]


def private_uses(tree: ast.AST) -> Iterator[ast.Attribute]:
    yield from (item for item in ast.walk(tree) if isinstance(item, ast.Attribute) and is_private(item.attr))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_no_module_uses_the_private_names_of_others(room):
    """`other._name`, where some class of the rooms has that name and none of this module has it."""
    known = set().union(*(private_names(found) for one in MAY_IMPORT for path in modules(one) for found in classes(path)))
    wrong = []
    for path in modules(room):
        own = set().union(*map(private_names, classes(path)))
        wrong += [f"{short(path)}:{item.lineno} uses {ast.unparse(item)}" for item in private_uses(ast.parse(path.read_text()))
                  if item.attr in known - own and ast.unparse(item.value) not in ("self", "cls", "super()")]
    assert not wrong


def test_nothing_private_of_a_base_is_used_or_replaced_by_reconcilers_and_their_variants():
    """Those of the papers' evaluation and the mutants of the tests: they are other compositions, or replace what is public."""
    known = {found.name: found for room in MAY_IMPORT for path in modules(room) for found in classes(path)}
    inside = set().union(*(private_names(found) for path in modules("node/reconcile") for found in classes(path)))
    wrong = []
    for path in [path for place in SEALED for path in sorted(ROOT.glob(place))]:
        for found in classes(path):
            bases, inherited = [ast.unparse(base).rpartition(".")[2] for base in found.bases], set()
            for base in bases:  # grows
                if base in known:
                    inherited |= private_names(known[base])
                    bases += [ast.unparse(one).rpartition(".")[2] for one in known[base].bases]
            names = private_names(found) | {item.attr for item in private_uses(found) if ast.unparse(item.value) in ("self", "super()")}
            wrong += [f"{short(path)}: {found.name} has {name} of its base" for name in names & inherited]
        if path.is_relative_to(ROOT / "tests"):
            wrong += [f"{short(path)}:{item.lineno} uses {ast.unparse(item)}" for item in private_uses(ast.parse(path.read_text()))
                      if item.attr in inside and "reconciler" in ast.unparse(item.value)]
    assert not wrong


def test_subcommands_import_what_is_heavy_inside():
    wrong = []
    for path in modules("cli"):
        for item in ast.parse(path.read_text()).body:
            for line, name in imports(item) if isinstance(item, ast.Import | ast.ImportFrom) else ():
                if name.partition(".")[0] not in sys.stdlib_module_names | {"cli"}:
                    wrong.append(f"{short(path)}:{line} imports {name} at its top")
    assert not wrong


def test_the_set_up_needs_only_the_standard_library():
    wrong = []
    for name in sorted(BEFORE_THE_ENVIRONMENT):
        for line, imported in imports(ast.parse((ROOT / name).read_text())):
            if imported.partition(".")[0] not in sys.stdlib_module_names and not (
                    imported == "cli" or f"{imported.replace('.', '/')}.py" in BEFORE_THE_ENVIRONMENT):
                wrong.append(f"{name}:{line} imports {imported}")
    assert not wrong


def test_modules_open_with_their_purpose_and_stay_short():
    wrong = []
    for room in [*MAY_IMPORT, "tests"]:
        for path in modules(room):
            text = path.read_text()
            if text.count("\n") > LONGEST:
                wrong.append(f"{short(path)}: {text.count(chr(10))} lines, more than {LONGEST}")
            if text.strip() and ast.get_docstring(ast.parse(text)) is None:
                wrong.append(f"{short(path)}: no docstring")
    assert not wrong


def committed() -> list[Path]:
    """The files that a clone has; everything that is not ignored where this is no clone."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "ls-files", "-z"],
                                capture_output=True, text=True, check=True).stdout
        return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    rooms = [path for room in [*MAY_IMPORT, "tests", "docs", ".ci"] for path in (ROOT / room).rglob("*")]
    return [path for path in [*rooms, *ROOT.glob("*")] if path.is_file() and "__pycache__" not in path.parts]


def test_no_file_names_a_machine_or_a_registry():
    # in two parts each, so that this file is no finding
    signs = ["/wo" "rk/", "/ro" "ot/", "pypi" ".org", "python" "hosted", "deb.deb" "ian.org", "npmjs" ".org"]
    found = re.compile("|".join(re.escape(sign) for sign in signs))
    wrong = []
    for path in committed():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        wrong += [f"{short(path)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
                  for match in found.finditer(text)]
    assert not wrong


def test_ruff_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
