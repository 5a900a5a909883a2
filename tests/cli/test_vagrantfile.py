"""The Vagrantfile, as far as it can be checked without Vagrant: its syntax, its pins, the commands it runs."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "Vagrantfile"
TEXT = FILE.read_text()


def scripts() -> dict[str, str]:
    """The shell scripts of its provisioning, with its constants in place, by name."""
    constants = dict(re.findall(r'^([A-Z_]+) = "(.*)"\.freeze$', TEXT, re.MULTILINE))
    found = re.findall(r'config\.vm\.provision "([\w-]+)", type: "shell", inline: <<~SHELL\n(.*?)^  SHELL$', TEXT, re.MULTILINE | re.DOTALL)
    return {name: re.sub(r"#\{(\w+)\}", lambda match: constants[match[1]], text).replace("\\\\", "\\") for name, text in found}


@pytest.mark.needs("ruby")
def test_it_is_ruby():
    done = subprocess.run(["ruby", "-wc", FILE], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "Syntax OK\n" and done.stderr == "", done.stderr


RECORDER = """
class Recorder
  def initialize(path, said) = (@path, @said = path, said)
  def method_missing(name, *arguments, **options)
    here = @path.empty? ? name.to_s : "#{@path}.#{name}"
    @said << ([here] + arguments + options.map { |key, value| "#{key}=#{value}" }).join(" ")
    inner = Recorder.new(arguments.first.is_a?(String) && block_given? ? "#{here}(#{arguments.first})" : here, @said)
    yield(inner, Recorder.new("override", @said)) if block_given?
    inner
  end
  def respond_to_missing?(*) = true
end
module Vagrant
  def self.configure(version)
    said = ["configure #{version}"]
    yield Recorder.new("", said)
    puts said
  end
end
load ARGV[0]
"""


@pytest.mark.needs("ruby")
def test_it_sets_up_both_providers():
    done = subprocess.run(["ruby", "-e", RECORDER, FILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    for provider in ("virtualbox", "libvirt"):
        assert f"vm.provider({provider}).memory= 4096" in said and f"vm.provider({provider}).cpus= 2" in said
    assert "configure 2" in said and any(line.startswith("vm.box= ") for line in said)
    assert list(scripts()) == re.findall(r"^vm\.provision ([\w-]+) type=shell", done.stdout, re.MULTILINE)


def test_scripts_are_shell():
    assert list(scripts()) == ["kernel", "mininet-wifi", "roamcast"]
    for text in scripts().values():
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True)
        assert done.returncode == 0 and text.lstrip().startswith("set -eu\n"), done.stderr
        assert "#{" not in text


def test_mininet_wifi_is_pinned_and_installed_as_its_readme_says():
    text = scripts()["mininet-wifi"]
    assert re.search(r"git checkout -q [0-9a-f]{40}$", text, re.MULTILINE) and "util/install.sh -Wlnfv" in text
    assert "https://github.com/intrig-unicamp/mininet-wifi" in text


def test_what_it_runs_of_ours_is_there(tmp_path):
    """The last script, in a folder in place of the machine's."""
    home, binaries = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    binaries.mkdir()
    (home / "roamcast").symlink_to(ROOT)
    text = scripts()["roamcast"].replace("/home/vagrant", str(home)).replace("/usr/local/bin", str(binaries))
    *before, last = text.strip().splitlines()
    assert last.strip() == f"{home}/roamcast/roamcast check {home}/topologies/park-12.toml"
    subprocess.run(["sh"], input="\n".join(before), text=True, check=True)
    assert (ROOT / "roamcast").stat().st_mode & 0o111
    assert (home / "topologies" / "park-12.toml").is_file()
    command = (binaries / "roamcast").read_text()
    assert command == f'#!/bin/sh\nexec sudo {home}/roamcast/roamcast "$@"\n'
    assert "vagrant ssh -c 'roamcast run topologies/park-12.toml --world mininet'" in TEXT


def test_what_grows_in_a_checkout_is_not_copied():
    left_out = re.search(r"rsync__exclude: \[(.*?)\]", TEXT, re.DOTALL)[1]
    assert set(re.findall(r'"([^"]+)"', left_out)) == {".venv*", ".guest", ".hypothesis", "runs"}
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()}
    assert {".venv*", ".guest", ".hypothesis", "runs", ".vagrant"} <= ignored
