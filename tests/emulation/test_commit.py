"""The commit that a run names: read from the checkout, without git."""
from __future__ import annotations

import pytest

from emulation.rundir import _commit

HASH = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("files", [
    {"HEAD": f"{HASH}\n"},
    {"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{HASH}\n"},
    {"HEAD": "ref: refs/heads/main\n",
     "packed-refs": f"# pack-refs with: peeled\n{'f' * 40} refs/heads/maintenance\n{HASH} refs/heads/main\n"}])
def test_the_commit_of_a_checkout(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _commit(tmp_path) == HASH


@pytest.mark.parametrize("head", [None, "", "ref: refs/heads/none\n", "what else\n"])
def test_what_is_no_checkout_has_none(tmp_path, head):
    if head is not None:
        (tmp_path / "HEAD").write_text(head)
    assert _commit(tmp_path) is None
