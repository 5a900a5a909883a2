"""What nobody can do with is refused by one sentence, whatever argparse would say."""
from __future__ import annotations

import argparse
import importlib
import typing

import pytest

from cli import main


@pytest.mark.parametrize(("arguments", "told"), [
    *((("run", "x.toml", "--seed", text), f'--seed: found "{text}"; give a whole number') for text in ("x", "1.0", "1e3", "1_000", "٣", "0x1", "nan")),
    *((("replay", "3.journal", "--until", text), f'--until: found "{text}"; give a number') for text in ("soon", "nan", "inf", "1_0", "1e999", "٣")),
    (("radio", "up", "wlan0", "--wait", "5s"), '--wait: found "5s"; give a number'),
    (("run",), "found none of SCENARIO --batch; give one of them"),
    (("analyse",), "found no RUN; give it"),
    (("run", "x.toml", "--seed"), "--seed: found nothing after it; give a value"),
    (("run", "x.toml", "y.toml"), 'found "y.toml", which is one too many'),
    (("run", "x.toml", "--sed", "3"), 'found "--sed", an unknown option; did you mean --seed?'),
    (("run", "x.toml", "--frobnicate"), 'found "--frobnicate", an unknown option; leave it out'),
    (("run", "x.toml", "--journal=yes"), "--journal: found 'yes' after it; it takes no value"),
    (("sub", "--control", "a", "--run", "b", "*"), "--run: found together with --control; use one of the two"),
    (("node", "--family", "ipv5"), "--family: found 'ipv5'; give one of "),
    (("run", "x.toml", "--w"), 'found "--w", an unknown option; did you mean --world or --watch?'),
    (("run", "x.toml", "--all"), 'found "--all", an unknown option; did you mean --allow-commands?'),
    (("run", "x.toml", "--se=3"), 'found "--se=3", an unknown option; did you mean --seed or --seeds or --set?'),
])  # fmt: skip
def test_a_command_line_that_cannot_be_is_one_sentence(arguments, told, capsys):
    assert main.main(arguments) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"roamcast: {told}") and err.count("\n") == 1 and out == ""
    assert f"(`roamcast {arguments[0]} --help` lists all)" in err


@pytest.mark.parametrize(("text", "seed"), [("7", 7), ("-7", -7), ("+7", 7), ("007", 7)])
def test_whole_numbers_as_people_write_them(text, seed, capsys):
    assert main.main(["run", "nowhere.toml", "--no-analysis", "--seed", text]) == 2
    assert "nowhere.toml: no such file" in capsys.readouterr().err


def found(parser: argparse.ArgumentParser) -> set[str]:
    """What a parser finds, its subcommands' parsers included."""
    names = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names |= set().union(*map(found, action.choices.values()))
        if action.default != argparse.SUPPRESS:
            names.add(action.dest)
    return names


@pytest.mark.parametrize("name", main.commands())
def test_what_a_command_finds_is_what_it_says(name):
    command, parser = importlib.import_module(f"cli.{name}"), argparse.ArgumentParser()
    command.add_arguments(parser)
    assert found(parser) == typing.get_type_hints(command.Arguments).keys() - {"others"}
