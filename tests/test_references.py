"""What the code and the pages point to is there: papers by their short names, pages, files, commands."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.test_architecture import ROOT, committed, short

DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*DOCS, ROOT / "topologies" / "README.md", *sorted(ROOT.glob("*.md"))]
# The papers' first authors; a short name may be broken where a line ends.
SHORT_NAME = re.compile(r"\b(?:cugola|costa|jaeger|virgillito)-(?:[a-z]+-\n? *)*[a-z]+")


def texts() -> list[tuple[str, str]]:
    return [(short(path), path.read_text(encoding="utf-8")) for path in committed()
            if path.suffix in (".py", ".md", ".toml", ".lua", ".html", ".js")]


def test_every_paper_that_is_named_is_listed():
    listed = set(re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs/design.md").read_text(encoding="utf-8"), re.MULTILINE))
    named = {(re.sub(r"\n *", "", found), name) for name, text in texts() for found in SHORT_NAME.findall(text)}
    assert len(named) > 20 and [(paper, name) for paper, name in sorted(named) if paper not in listed] == []


def test_every_page_that_is_named_exists():
    named = re.compile(r"\bdocs/[\w-]+(?:/[\w-]+)*(?:\.\w+)?\b")
    wrong = [f"{name}: {page}" for name, text in texts() for page in named.findall(text)
             if not (ROOT / page).is_file() and not name.startswith("tests/test_ref")]
    assert wrong == []


def test_files_that_code_names_exist():
    """In docstrings and comments; tests name files that they make."""
    named = re.compile(r"(?<![\w/.-])((?:node|mobility|topologies|emulation|analysis|cli|tests|docs)/[\w/]*\w\.(?:py|pyi|toml|md|html))\b")
    wrong = [f"{name}: {file}" for name, text in texts() if name.endswith(".py") and not name.startswith("tests/")
             for file in named.findall(text) if not (ROOT / file).exists() and "NAME" not in file]
    assert wrong == []


def test_commits_that_pages_name_are_in_the_history():
    if not (ROOT / ".git").exists() or subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True,
                                                      text=True, check=False).stdout.strip() != "false":
        pytest.skip("not a clone with its history")
    named = {(commit, short(page)) for page in PAGES for commit in re.findall(r"\bcommit ([0-9a-f]{7,40})\b", page.read_text(encoding="utf-8"))}
    wrong = [one for one in sorted(named) if subprocess.run(["git", "merge-base", "--is-ancestor", one[0], "HEAD"], cwd=ROOT, capture_output=True, check=False).returncode]
    assert named and wrong == []


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_links_and_files_of_a_page_exist(page):
    text = re.sub(r"^```\w+ \S+$", "```", page.read_text(encoding="utf-8"), flags=re.MULTILINE)  # files that a recipe makes
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    rooms = r"(?:node|mobility|topologies|emulation|analysis|cli|tests|docs)"
    files = re.findall(rf"[`\s(]({rooms}/[\w/.-]*\w\.\w+)\b", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    assert [file for file in files if not (ROOT / file).exists() and "/NAME" not in file] == []


def anchors(page: Path) -> set[str]:
    """What a link may name in a page: its headings, as GitHub writes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_links_into_a_page_meet_a_heading(page):
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    wrong = [f"{other}#{anchor}" for other, anchor in links
             if anchor not in anchors((page.parent / other) if other else page)]
    assert wrong == []


@pytest.mark.parametrize("page", DOCS, ids=short)
def test_every_page_is_in_the_navigation_and_leads_back_to_it(page):
    index = page.parent / "README.md"
    if page == index:
        return
    assert f"]({page.name})" in index.read_text(encoding="utf-8")
    assert "](README.md)" in "\n".join(page.read_text(encoding="utf-8").split("\n")[:4])


def test_a_measured_part_names_the_command_that_writes_it():
    parts = [(short(page), part) for page in PAGES
             for part in re.findall(r"<!-- measured: (.*?) -->\n(.*?)<!-- end -->", page.read_text(encoding="utf-8"), re.DOTALL)]
    assert len(parts) >= 4
    for page, (command, text) in parts:
        assert (ROOT / command.split()[0]).is_file(), page
        assert re.match(r"Measured \d{4}-\d\d-\d\d at commit \w+: Python ", text), f"{page}: {command}"


def test_the_first_page_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_every_command_of_a_page_exists():
    from cli.main import commands

    # in code: at the start of a line or of a span
    used = {(word, short(page)) for page in PAGES
            for word in re.findall(r"(?:^    (?:\./)?|`(?:\./)?)roamcast ([a-z]+)", page.read_text(encoding="utf-8"),
                                   re.MULTILINE)}
    assert len(used) > 10 and [one for one in sorted(used) if one[0] not in commands()] == []


def test_what_the_first_page_prints_is_what_was_measured():
    """The README shows the first lines of a table that docs/quickstart.md has whole."""
    shown = re.search(r"^    (park-30: .*?)^    \.\.\.$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    whole = {line.strip() for line in (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8").splitlines()}
    assert shown and [line for line in shown[1].splitlines() if line.strip() not in whole] == []
