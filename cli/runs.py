"""`roamcast runs`: the run directories of a folder: list them, show one, sum their sizes, remove some by rule."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.arguments import number, whole

HELP = "list, show and remove run directories"
MOST_MANIFEST = 1 << 20  # bytes
DAY = 86_400.0  # s
PARTS = ("captures", "nodes", "journals", "tables")  # folders of which sizes are told
OURS = ("roamcast", "world", "outcome", "started")  # keys of a manifest that no other program writes together


class Arguments(argparse.Namespace):
    folder: Path
    what: str
    runs: list[Path]
    older: float | None
    invalid: bool
    keep: int | None
    captures: bool
    yes: bool
    as_json: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A run directory."""

    path: Path
    manifest: dict[str, Any]
    started: datetime
    bytes: int
    parts: dict[str, int]  # bytes of its folders

    @property
    def state(self) -> str:
        """complete, invalid, interrupted, .."""
        fidelity = self.manifest.get("fidelity")
        valid = fidelity.get("valid") if isinstance(fidelity, dict) else None
        outcome = str(self.manifest.get("outcome"))
        return "invalid" if outcome == "complete" and valid is False else outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = ("exit codes: 0 done; 1 not confirmed, or something could not be removed; 2 no such run. Only folders with a manifest.json "
                     "of ours count; symbolic links are passed over; a run that goes on is never removed")
    parser.add_argument("what", nargs="?", choices=("list", "show", "size", "remove"), default="list", metavar="list | show | size | remove",
                        help="what to do (default: list)")
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run directories (default: all of the folder; for remove, those of the rules)")
    parser.add_argument("--folder", type=Path, default=Path("runs"), metavar="DIR", help="folder of run directories (default: runs)")
    parser.add_argument("--older", type=number(0, 1e6, "days"), metavar="DAYS", help="only runs that started longer ago than this")
    parser.add_argument("--invalid", action="store_true", help="only runs that are not valid, failed or were cut short")
    parser.add_argument("--keep", type=whole(0, 10**6, "runs"), metavar="N", help="for remove: not the latest N of those")
    parser.add_argument("--captures", action="store_true", help="for remove: only their captures")
    parser.add_argument("--yes", action="store_true", help="for remove: do not ask")
    parser.add_argument("--json", dest="as_json", action="store_true", help="for list, show and size: JSON")


def run(args: Arguments) -> int:
    """0: done; 1: not confirmed, or something is still there."""
    from cli.errors import UserError

    if args.what == "remove":
        if args.as_json:
            raise UserError("--json: found together with remove; leave it out")
        return _remove(args)
    for key in ("keep", "captures", "yes"):
        if getattr(args, key) not in (None, False):
            raise UserError(f"--{key}: found together with {args.what}; it goes with remove")
    if args.what == "show" and not args.runs:
        raise UserError("found no RUN to show; give one, such as one that `roamcast runs` lists")
    found = _chosen(args)
    if args.as_json:
        print(json.dumps([_told(one) for one in found], ensure_ascii=False, indent=1))
    elif args.what == "show":
        print("\n\n".join(map(_shown, found)))
    elif args.what == "size":
        print("\n".join(_sizes(found)))
    else:
        print("\n".join(_lines(found)) if found else f"{args.folder}: no run directory that fits")
    return 0


def look(path: Path) -> Found | None:
    """A run directory; None for anything else, symbolic links included."""
    try:
        descriptor = os.open(path / "manifest.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            is_file, text = stat.S_ISREG(os.fstat(file.fileno()).st_mode), file.read(MOST_MANIFEST)
        manifest = json.loads(text)
        if path.is_symlink() or not is_file or not isinstance(manifest, dict) or not all(key in manifest for key in OURS):
            return None
        started = datetime.fromisoformat(str(manifest["started"]))
        parts = {name: size_of(path / name) for name in PARTS}
        return Found(path, manifest, started if started.tzinfo else started.replace(tzinfo=UTC), size_of(path), parts)
    except (OSError, ValueError, RecursionError):
        return None


def size_of(path: Path) -> int:
    """Bytes of a folder's files; links count as what they are and are not followed."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(Path(folder, name)).st_size
            except OSError:
                continue  # gone meanwhile
    return total


def _chosen(args: Arguments) -> list[Found]:
    """The runs that are meant, oldest first. Raises UserError for a path that is none."""
    from cli.errors import UserError

    if args.runs:
        found = []
        for path in dict.fromkeys(args.runs):
            if (one := look(path)) is None:
                link = "a symbolic link" if path.is_symlink() else "not a run directory"
                raise UserError(f"{path}: {link}; give one that `roamcast runs` lists")
            found.append(one)
    else:
        try:
            paths = [path for path in args.folder.iterdir() if path.is_dir()]
        except OSError as error:
            raise UserError(f"{args.folder}: {(error.strerror or 'cannot be read').lower()}; give the folder of run directories with --folder") from None
        found = [one for path in paths if (one := look(path)) is not None]
    now = datetime.now(UTC)
    return sorted((one for one in found
                   if (args.older is None or (now - one.started).total_seconds() > args.older * DAY)
                   and (not args.invalid or one.state not in ("complete", "running"))), key=lambda one: (one.started, one.path.name))


def _remove(args: Arguments) -> int:
    from cli.errors import FAILED, UserError

    if not args.runs and args.older is None and not args.invalid and args.keep is None:
        raise UserError("found nothing that says which runs to remove; give runs, --older DAYS, --invalid or --keep N")
    found = _chosen(args)
    if args.keep is not None:
        found = found[:max(len(found) - args.keep, 0)]
    for one in (one for one in found if one.state == "running"):
        print(f"roamcast: {one.path}: goes on, or was killed; not removed (if nothing runs there, remove it by hand)", file=sys.stderr)
    found = [one for one in found if one.state != "running" and (not args.captures or one.parts["captures"])]
    if not found:
        print("no run to remove")
        return 0
    print("\n".join(_lines(found)))
    size = sum(one.parts["captures"] if args.captures else one.bytes for one in found)
    what = f"{'the captures of ' if args.captures else ''}{len(found)} run{'s' if len(found) > 1 else ''}, {_bytes(size)}"
    if not args.yes and not _confirmed(f"Remove {what}? [y/N] "):
        print("nothing was removed; answer y, or give --yes", file=sys.stderr)
        return FAILED
    left = [str(one.path) for one in found if not _gone(one.path / "captures" if args.captures else one.path)]
    for path in left:
        print(f"roamcast: {path}: could not be removed whole", file=sys.stderr)
    print(f"removed {what}" if not left else f"removed {len(found) - len(left)} of {len(found)}")
    return FAILED if left else 0


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _gone(path: Path) -> bool:
    """Remove a folder; rmtree removes links in it, never what they lead to, and refuses a folder that is a link."""
    try:
        shutil.rmtree(path)
    except OSError:
        return not path.exists() and not path.is_symlink()
    return True


def _lines(found: Sequence[Found]) -> Iterator[str]:
    for one in found:
        yield (f"{one.started.astimezone():%Y-%m-%d %H:%M}  {one.state:<11}  {str(one.manifest.get('world')):<7}  {_bytes(one.bytes):>8}  {one.path}")


def _sizes(found: Sequence[Found]) -> Iterator[str]:
    total = sum(one.bytes for one in found)
    for name in PARTS:
        size = sum(one.parts[name] for one in found)
        yield f"{name:<9} {_bytes(size):>8}  {size / total if total else 0:.0%}"
    rest = total - sum(sum(one.parts.values()) for one in found)
    yield f"{'other':<9} {_bytes(rest):>8}  {rest / total if total else 0:.0%}"
    yield f"{'all':<9} {_bytes(total):>8}  {len(found)} run{'' if len(found) == 1 else 's'}"


def _shown(one: Found) -> str:
    manifest = one.manifest
    fidelity = manifest.get("fidelity")
    because = fidelity.get("invalid_because") if isinstance(fidelity, dict) else None
    notes = [*_texts(because), *_texts(manifest.get("notes"))]
    report = "report.html" if (one.path / "report.html").is_file() else f"none; roamcast analyse {one.path}"
    rows = {"state": one.state, "world": manifest.get("world"), "started": manifest.get("started"), "ran": f"{manifest.get('ended')} s", "reason": manifest.get("reason"),
            "version": f"{manifest.get('roamcast')} {str(manifest.get('commit') or '')[:12]}".strip(), "size": _bytes(one.bytes),
            "captures": _bytes(one.parts["captures"]), "report": report}
    return "\n".join([str(one.path), *(f"  {key:<9} {value}" for key, value in rows.items() if value not in (None, "")), *(f"  note      {note}" for note in notes)])


def _texts(value: object) -> list[str]:
    return list(map(str, value)) if isinstance(value, list) else []


def _told(one: Found) -> dict[str, object]:
    return {"path": str(one.path), "state": one.state, "world": one.manifest.get("world"), "started": one.started.isoformat(), "bytes": one.bytes,
            "parts": one.parts, "notes": one.manifest.get("notes")}


def _bytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"
