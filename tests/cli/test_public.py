"""`from roamcast import Client` in a checkout: what a program beside it gets, and what the pages tell it to import."""
from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap

import pytest

import roamcast
from tests.cli.command import ENVIRONMENT, ROOT
from tests.test_references import PAGES, short


def test_the_public_names_are_those_of_the_node(tmp_path):
    from node import __version__, client, config
    from node.roaming.client import RoamingClient

    assert (roamcast.Client, roamcast.ClientError, roamcast.Received) == (client.Client, client.ClientError, client.Received)
    assert (roamcast.RoamingClient, roamcast.NodeConfig, roamcast.__version__) == (RoamingClient, config.NodeConfig, __version__)
    assert all(hasattr(roamcast, name) for name in roamcast.__all__) and not hasattr(roamcast, "Clint")


def test_a_client_is_there_without_the_libraries_of_a_node(tmp_path):
    program = "import sys; from roamcast import Client, ClientError, Received; print({'trio', 'cbor2', 'tomllib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def examples(text: str) -> list[str]:
    """The Python of a page: fenced, and indented from an import on."""
    fenced = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^(    from .*\n(?:(?:    .*)?\n)*)", text, re.MULTILINE)
    return [*fenced, *map(textwrap.dedent, indented)]


@pytest.mark.parametrize("page", ["docs/field.md", "docs/roaming.md"])
def test_programs_of_the_pages_import_public_names_alone(page):
    found = {(item.module, alias.name) for text in examples((ROOT / page).read_text(encoding="utf-8"))
             for item in ast.walk(ast.parse(text)) if isinstance(item, ast.ImportFrom) for alias in item.names}
    assert found and found <= {("roamcast", name) for name in roamcast.__all__}


def test_no_page_tells_a_program_to_import_a_client_from_our_rooms():
    wrong = [short(page) for page in PAGES if re.search(r"from node\S* import \w*Client", page.read_text(encoding="utf-8"))]
    assert not wrong
