"""What the code and the pages point to is there: papers by their short names, pages, files, commands."""
from __future__ import annotations

import re

import pytest

from tests.test_architecture import ROOT, committed, short

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "topologies" / "README.md"]
# The papers' first authors; a short name may be broken where a line ends.
SHORT_NAME = re.compile(r"\b(?:cugola|costa|jaeger|virgillito)-(?:[a-z]+-\n? *)*[a-z]+")


def texts() -> list[tuple[str, str]]:
    return [(short(path), path.read_text(encoding="utf-8")) for path in committed()
            if path.suffix in (".py", ".md", ".toml", ".lua", ".html", ".js")]


def test_every_paper_that_is_named_is_listed():
    listed = set(re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs/papers.md").read_text(encoding="utf-8"), re.MULTILINE))
    named = {(re.sub(r"\n *", "", found), name) for name, text in texts() for found in SHORT_NAME.findall(text)}
    assert len(named) > 20 and [(paper, name) for paper, name in sorted(named) if paper not in listed] == []


def test_every_page_that_is_named_exists():
    wrong = [f"{name}: {page}" for name, text in texts() for page in re.findall(r"\bdocs/[\w-]+(?:\.md)?\b", text)
             if not (ROOT / page).is_file() and not name.startswith("tests/test_ref")]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_links_and_files_of_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    rooms = r"(?:node|mobility|topologies|emulation|analysis|cli|tests|docs)"
    files = re.findall(rf"[`\s(]({rooms}/[\w/.-]*\w\.\w+)\b", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    assert [file for file in files if not (ROOT / file).exists() and "/NAME" not in file] == []


def test_every_command_of_a_page_exists():
    from cli.main import commands

    # in code: at the start of a line or of a span
    used = {(word, short(page)) for page in PAGES
            for word in re.findall(r"(?:^    (?:\./)?|`(?:\./)?)roamcast ([a-z]+)", page.read_text(encoding="utf-8"),
                                   re.MULTILINE)}
    assert len(used) > 10 and [one for one in sorted(used) if one[0] not in commands()] == []
