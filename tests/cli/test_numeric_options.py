"""Every option of every command: a number that cannot be is refused in one sentence, and an option stands there once."""
from __future__ import annotations

import argparse
import importlib

import pytest

from cli import main
from cli.arguments import Parser
from cli.errors import UserError

NEVER = ("nan", "inf", "-inf", "1e400", "-1e400", "1_000", "0x10", "٣", "", " 5", "5s")
WORDS = {"run": ["x.toml"], "test": ["tests"], "capture": ["lo", "--out", "x.pcap"], "radio": ["up", "wlan0"], "replay": ["x.journal"],
         "reproduce dynamic-topology": [], "reproduce epidemic": [], "reproduce mobile": [], "collect": ["x.jsonl", "--out", "x"], "node": [], "sweep": ["x.toml"],
         "serve": [], "sub": ["*"], "runs": []}
# What a command itself refuses later on, because it has more to say of it: seeds and ids are checked with all else of their file.
BELOW = {("run", "--seed"), ("collect", "--walk"), ("node", "--id"), ("node", "--port"), ("node", "--disk"),
         ("node", "--began"), ("replay", "--until"), ("reproduce dynamic-topology", "--seeds"), ("reproduce epidemic", "--seeds"),
         ("reproduce mobile", "--seeds")}


def parser(command: str) -> Parser:
    """Of a command, or of a study that a command names."""
    command, _, study = command.partition(" ")
    found = Parser(f"roamcast {command}", "")
    importlib.import_module(f"cli.{command}").add_arguments(found)
    return studies(found)[study] if study else found


def studies(found: Parser) -> dict[str, Parser]:
    return {name: one for action in found._actions if isinstance(action, argparse._SubParsersAction)
            for name, one in action.choices.items()}


def options() -> list[tuple[str, argparse.Action]]:
    every = [word for command in main.commands() for word in (command, *(f"{command} {name}" for name in studies(parser(command))))]
    return [(word, action) for word in every for action in parser(word)._actions if action.option_strings]


NUMERIC = [(command, action.option_strings[0]) for command, action in options() if callable(action.type) and action.type.__name__ in ("int", "float", "convert")]


def test_all_numeric_options_are_here():
    assert {command for command, _ in NUMERIC} == set(WORDS) and len(NUMERIC) >= 13 and set(NUMERIC) > BELOW


@pytest.mark.parametrize("text", NEVER)
@pytest.mark.parametrize(("command", "option"), NUMERIC)
def test_what_is_no_number_is_refused(command, option, text, capsys):
    assert main.main([*command.split(), *WORDS[command], f"{option}={text}"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.startswith(f'roamcast: {option}: found ')


@pytest.mark.parametrize(("command", "option"), [pair for pair in NUMERIC if pair not in BELOW])
@pytest.mark.parametrize("text", ["-5", "-1", "1" + "0" * 20])
def test_a_number_out_of_range_is_refused_with_the_range(command, option, text):
    with pytest.raises(UserError, match=rf'{option}: found "{text}"; .*, from [\d.]+ to \d+'):
        parser(command).parse_args([*WORDS[command], option, text])


@pytest.mark.parametrize(("command", "option", "text"), [("capture", "--seconds", "0"), ("radio", "--wait", "0")])
def test_no_time_at_all_is_refused(command, option, text):
    with pytest.raises(UserError, match=r"seconds, from 0\.\d+ to"):
        parser(command).parse_args([*WORDS[command], option, text])


@pytest.mark.parametrize(("command", "option"), sorted(BELOW))
def test_what_the_command_itself_refuses(command, option, tmp_path, capsys, monkeypatch):
    """A number below 0 never gets further than a sentence."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text("[run]\nduration = 20\n[hosts]\ncount = 2\n[mobility]\narea = [100, 100]\n")
    for name in ("x.journal", "x.jsonl"):
        (tmp_path / name).write_text("{}\n")
    more = ["--interface", "lo", "--id", "1"][:2 if option == "--id" else 4] if command == "node" else []
    assert main.main([*command.split(), *WORDS[command], *more, f"{option}=-5"]) == 2
    captured = capsys.readouterr()
    assert "-5" in captured.err or command == "collect", captured.err


def test_an_option_stands_there_once_unless_it_gathers():
    """Of every command and every option; a flag too."""
    for command, action in options():
        if isinstance(action, argparse._HelpAction):
            continue
        made, option = parser(command), action.option_strings[0]
        for other in made._actions:  # nothing else is asked for, and no value is looked at
            other.type, other.choices, other.required = None, None, False
            if not other.option_strings:
                other.nargs = "*"
        for group in made._mutually_exclusive_groups:
            group.required = False
        twice = [option] * 2 if action.nargs == 0 else [f"{option}=1", f"{option}=2"]
        if isinstance(action, argparse._AppendAction):
            assert getattr(made.parse_args(twice), action.dest)[-2:] == ["1", "2"]
        elif action.nargs not in ("+", "*"):
            with pytest.raises(UserError, match=f"^{option}: found twice; give it once"):
                made.parse_args(twice)


def test_a_parser_can_be_used_again():
    made = parser("run")
    for seed in (1, 2):
        assert made.parse_args(["x.toml", "--seed", str(seed)]).seed == seed
