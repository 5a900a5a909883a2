"""How Spark is started: what is a master, and machines on which it is not easy."""
from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.errors import AnalysisError
from analysis.session import check_master, session

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("master", [None, "local", "local[2]", "local[*]", "local[4,2]", "yarn", "spark://one:7077",
                                    "spark://one:7077,two:7077", "k8s://https://one:6443", "local-cluster[2,1,1024]"])
def test_masters(master):
    check_master(master)


@pytest.mark.parametrize("master", ["", "here", "local[x]", "local[2", "spark://one", "spark://", "http://one:7077",
                                    "spark://one:7077\n", "mesos://one:5050", "--help"])
def test_what_is_no_master_is_a_sentence(master):
    with pytest.raises(AnalysisError, match="is not a Spark master; give spark://HOST:PORT") as caught:
        check_master(master)
    assert "\n" not in str(caught.value)


def test_a_master_that_is_not_there_is_a_sentence_at_once():
    with socket.socket() as one, socket.socket() as other:  # bound and not listening: what connects is refused
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        first, second = ("{}:{}".format(*bound.getsockname()) for bound in (one, other))
        said = f"no Spark master answers at {first}: .*refused; {second}: .*refused; start it, or leave out --master"
        with pytest.raises(AnalysisError, match=said) as caught:
            session(f"spark://{first},{second}")
    assert "\n" not in str(caught.value)


def test_a_machine_whose_name_has_no_address(tmp_path):
    """As after a change of its name alone: Java finds no address for it."""
    apart = ["unshare", "--uts"] if os.geteuid() == 0 else ["unshare", "--uts", "--user", "--map-root-user"]
    program = ("import socket; socket.sethostname('roamcast-test.invalid'); from analysis.session import session; "
               "print(session().range(3).count())")
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a machine name of one's own needs root or user namespaces")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_LOCAL")}
    done = subprocess.run([*apart, sys.executable, "-c", program], env={**environment, "PYTHONPATH": str(ROOT)},
                          cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
