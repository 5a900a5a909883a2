"""Programs at the control socket of a real node: many at once, slow ones, greedy ones, and what `ok` says when it is killed.

The node runs on the loopback interface, which needs no rights.
"""
from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from node import clients, control, lines
from node.client import Client, ClientError
from tests.node.field_hosts import PATIENCE, environment, until


class Node:
    """A daemon on the loopback interface; its files are in `folder`."""

    def __init__(self, folder: Path, name: str = "1", node: int = 1) -> None:
        self.socket, self.records, self.said = folder / f"{name}.sock", folder / f"{name}.jsonl", folder / f"{name}.said"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.bare = [sys.executable, "-P", "-m", "cli", "node", "--id", str(node), "--interface", "lo",
                     "--broadcast", "127.255.255.255", "--port", str(port)]
        self.state = ["--state", str(folder / f"{name}.state")]
        self.process: subprocess.Popen | None = None

    def start(self, *more: str, records: bool = True) -> None:
        kept = ["--records", str(self.records)] if records else []
        with self.said.open("ab") as said:
            self.process = subprocess.Popen([*self.command(*more), "--control", str(self.socket), *kept],
                                            env=environment(), stderr=said)

    def command(self, *more: str) -> list[str]:
        return [*self.bare, *([] if "--state" in more else self.state), *more]

    def ready(self) -> None:
        until(lambda: self.socket.exists() or self.process.poll() is not None, "no control socket")
        assert self.process.poll() is None, self.said.read_text()

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def kinds(self, *kinds: str) -> list[dict]:
        whole = [line for line in self.records.read_bytes().splitlines(True) if line.endswith(b"\n")]
        return [record for record in map(json.loads, whole) if record["kind"] in kinds]


@pytest.fixture
def nodes(tmp_path):
    """Makes nodes, and ends them."""
    made: list[Node] = []

    def make(name: str, node: int) -> Node:
        made.append(Node(tmp_path, name, node))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None and one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def node(nodes):
    return nodes("1", 1)


def roamcast(*words: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-P", "-m", "cli", *map(str, words)], env=environment(), capture_output=True,
                          text=True, timeout=PATIENCE, **options)


# ---- what ok says


@pytest.mark.parametrize("synced", [False, True])
def test_a_node_that_is_killed_loses_no_publication_that_it_said_ok_to(node, synced):
    node.start()
    node.ready()
    told: list[str] = []

    def publish(number: int) -> None:
        with Client(node.socket) as client:
            for count in range(10_000):
                try:
                    told.append(client.publish({"kind": "walk", "from": number, "count": count}, synced=synced))
                except ClientError:
                    return

    with ThreadPoolExecutor(4) as programs:
        for number in range(4):
            programs.submit(publish, number)
        until(lambda: len(told) > 300, "no publications")
        node.end(signal.SIGKILL)
    recorded = [record["event"] for record in node.kinds("published")]
    assert set(told) <= set(recorded) and len(recorded) == len(set(recorded)) <= len(told) + 4


def test_what_a_program_has_received_is_on_record_when_the_node_is_killed(node):
    node.start()
    node.ready()
    got = []
    with Client(node.socket) as reader, Client(node.socket) as writer:
        reader.subscribe("*")
        for count in range(200):
            writer.publish({"count": count})
            got.append(reader.receive(PATIENCE).id)
        node.end(signal.SIGKILL)
    assert [record["event"] for record in node.kinds("delivered")][:200] == got


def test_synced_means_that_an_fsync_came_between_and_many_share_one(node, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import os\nreal = os.fsync\ndef fsync(fd):\n    size = os.fstat(fd).st_size\n    real(fd)\n"
        "    with open(os.environ['FSYNCS'], 'a') as log:\n        log.write(f'{os.fstat(fd).st_ino} {size}\\n')\nos.fsync = fsync\n")
    log = tmp_path / "fsyncs"
    names = environment() | {"FSYNCS": str(log)}
    names["PYTHONPATH"] = f"{tmp_path / 'site'}{os.pathsep}{names['PYTHONPATH']}"
    node.process = subprocess.Popen([*node.command(), "--control", str(node.socket), "--records", str(node.records)], env=names)
    node.ready()

    def on_disk() -> int:
        inode = node.records.stat().st_ino
        return max(int(size) for found, size in map(str.split, log.read_text().splitlines()) if int(found) == inode)

    def publish(number: int) -> None:
        with Client(node.socket) as client:
            for _ in range(25):
                name = client.publish({"from": number}, synced=True)
                assert name.encode() in node.records.read_bytes()[:on_disk()]

    began = log.read_text().count("\n")
    with ThreadPoolExecutor(8) as programs:
        for done in [programs.submit(publish, number) for number in range(8)]:
            done.result()
    assert log.read_text().count("\n") - began < 200  # publications


def test_where_no_record_can_be_kept_it_is_said(node):
    node.start(records=False)
    node.ready()
    with Client(node.socket) as client:
        client.publish({"kind": "a"})
        with pytest.raises(ClientError, match="keeps no records to sync"):
            client.publish({"kind": "a"}, synced=True)
    node.end()
    node.start("--records", "/dev/full", records=False)
    node.ready()
    with Client(node.socket) as client:
        client.publish({"kind": "a"})
        assert client.unrecorded == 1
        with pytest.raises(ClientError, match=r"event 1\.\d+\.2 is published, but its record is not on disk"):
            client.publish({"kind": "a"}, synced=True)
    done = roamcast("pub", "--control", node.socket, "kind=a")
    assert done.returncode == 0 and "the node could not record it" in done.stderr


def test_pub_synced(node):
    node.start()
    node.ready()
    done = roamcast("pub", "--synced", "--control", node.socket, "kind=a")
    assert done.returncode == 0 and node.kinds("published")[0]["event"] == done.stdout.strip()


def test_pub_reads_lines_and_sub_ends_by_a_count_or_a_time(node):
    node.start()
    node.ready()
    env = environment() | {"ROAMCAST_CONTROL": str(node.socket)}  # no --control

    def command(*words, text=None):
        return subprocess.run([sys.executable, "-P", "-m", "cli", *words], env=env, input=text, capture_output=True, text=True)

    sub = subprocess.Popen([sys.executable, "-P", "-m", "cli", "sub", "-C", "3", 'kind = "line"'], env=env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    assert sub.stderr.readline().startswith("subscribed")
    done = command("pub", "-l", "--json", "kind=line", text='n:=1 note="two words"\n\n{"n": 2, "ok": true}\nn=three\n')
    assert done.returncode == 0 and [json.loads(line)["recorded"] for line in done.stdout.splitlines()] == [True] * 3
    out, _ = sub.communicate(timeout=60)
    assert sub.returncode == 0 and [json.loads(line)["attributes"] for line in out.splitlines()] == [
        {"kind": "line", "n": 1, "note": "two words"}, {"kind": "line", "n": 2, "ok": True}, {"kind": "line", "n": "three"}]
    assert [json.loads(line)["event"] for line in out.splitlines()] == [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert command("sub", "-W", "0.2", 'kind = "never"').returncode == 1
    for text, told in (("n:=1\nn\n", "line 2: n: not an attribute"), ('{"n": [1]}\n', "line 1: n: found [1]; give a text"), ("kind=x\n", "line 1: kind: given twice"),
                       ('{"n": 1, "n": 2}\n', "a name twice"), ("n='1\n", "line 1: n='1: no closing quotation"), ("{}\n", "no attributes"), ('{"n": NaN}\n', "a finite number")):
        done = command("pub", "-l", "kind=line", text=text)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert command("pub").returncode == 2 and command("sub", "--host", "3", "*").stderr.startswith("roamcast: --host goes with --run")
    node.end()
    env["ROAMCAST_CONTROL"] = str(node.socket) + "x"
    assert "or give --control, or set ROAMCAST_CONTROL" in command("pub", "a=b").stderr


# ---- slow readers


def test_a_program_that_was_stopped_for_a_while_learns_how_much_it_missed(node):
    journal = node.records.with_suffix(".journal")
    node.start("--journal", str(journal))
    node.ready()
    sub = subprocess.Popen([sys.executable, "-P", "-m", "cli", "sub", "--control", node.socket, 'kind = "much"'],
                           env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert sub.stderr.readline().startswith("subscribed")
    sub.send_signal(signal.SIGSTOP)
    with Client(node.socket) as client:
        for count in range(3000):
            client.publish({"kind": "much", "count": count}, bytes(600))
    got: list[int] = []
    reader = threading.Thread(target=lambda: got.extend(json.loads(line)["attributes"]["count"] for line in sub.stdout))
    reader.start()
    sub.send_signal(signal.SIGCONT)
    said = sub.stderr.readline()  # though nothing more is published
    until(lambda: len(got) + int(said.split()[0].replace(",", "")) == 3000, f"some are missing: {len(got)}, {said}")
    assert got == list(range(len(got))) and "lost here: read too slowly" in said
    sub.send_signal(signal.SIGINT)
    assert sub.wait(PATIENCE) == 0 and "events lost in all" in sub.stderr.read()
    reader.join()
    node.end()
    assert len(node.kinds("delivered")) == len(got) and len(node.kinds("undelivered")) == 3000 - len(got)
    done = roamcast("replay", journal, "--check", node.records)
    assert done.returncode == 0 and "all the same" in done.stdout, done.stdout + done.stderr


def test_the_library_tells_of_lost_events_in_their_place(node):
    node.start()
    node.ready()
    lost: list[tuple[int, int]] = []
    got: list[int] = []
    with Client(node.socket, on_lost=lambda events: lost.append((len(got), events))) as slow, Client(node.socket) as quick:
        slow.subscribe("*")
        for count in range(400):
            quick.publish({"count": count}, bytes(10_000))
        while (event := slow.receive(1)) is not None:
            got.append(event.attributes["count"])
        before, missing = lost[0]
        assert got[:before] == list(range(before)) and slow.lost == sum(events for _, events in lost)
        assert len(got) + slow.lost == 400 and (before == len(got) or got[before] == before + missing)


# ---- many programs, and greedy ones


HEEDS = """
import signal, sys, threading, time
from node.client import Client

def strike():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.{name})  # this thread's, so that no wait of the other ends by it

signal.signal(signal.{name}, signal.default_int_handler)
with Client(sys.argv[1]) as client:
    threading.Thread(target=strike).start()
    try:
        {wait}
    except KeyboardInterrupt:
        print("heeded")
"""


@pytest.mark.parametrize(("name", "wait"), [("SIGTERM", "client.receive()"), ("SIGINT", "client.receive(1e6)"),
                                            ("SIGINT", "for _ in client: pass")])
def test_a_signal_is_heeded_that_does_not_end_the_wait_for_an_event(node, name, wait):
    """As one that comes just before the wait begins. No event comes here."""
    node.start()
    node.ready()
    waiting = subprocess.run([sys.executable, "-P", "-c", HEEDS.format(name=name, wait=wait), node.socket], env=environment(),
                             stdout=subprocess.PIPE, text=True, timeout=PATIENCE / 3)
    assert (waiting.returncode, waiting.stdout) == (0, "heeded\n")


def test_programs_that_start_together_are_all_served(node):
    node.start()
    node.ready()
    asking = [subprocess.Popen([sys.executable, "-P", "-m", "cli", "pub", "--control", node.socket, "kind=a"], env=environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(12)]
    with ThreadPoolExecutor(60) as programs:
        def ask(number: int) -> str:
            with Client(node.socket, timeout=PATIENCE) as client:
                return client.publish({"from": number})
        names = set(programs.map(ask, range(60)))
    assert len(names) == 60
    for program in asking:
        _, said = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, said


@pytest.fixture
def many_files():
    """More open files than an ordinary user's 1024, as far as this user may have them."""
    wanted, (soft, hard) = 6000, resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != hard < wanted:
        pytest.skip(f"needs {wanted} open files in one process, and the limit here is {hard}")
    if resource.RLIM_INFINITY != soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_node_that_is_busy_is_waited_for(node, many_files):
    """It is stopped, and more knock than its queue takes."""
    node.start()
    node.ready()
    node.process.send_signal(signal.SIGSTOP)
    knocking = []
    try:
        while len(knocking) < 5000:
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            knocking.append(one)
            one.connect(str(node.socket))
    except BlockingIOError:
        pass
    else:
        pytest.skip("this kernel's queue has no end")
    threading.Timer(0.5, lambda: (node.process.send_signal(signal.SIGCONT), [one.close() for one in knocking])).start()
    with Client(node.socket, timeout=PATIENCE) as client:
        assert client.publish({"kind": "a"}).startswith("1.")


def test_who_finds_no_room_is_told_so(node):
    node.start()
    node.ready()
    idle = [Client(node.socket) for _ in range(control.MAX_OF_ONE)]
    with pytest.raises(ClientError, match=f"allows {control.MAX_OF_ONE} connections per process; close those"):
        Client(node.socket)
    done = roamcast("pub", "--control", node.socket, "kind=a")
    assert done.returncode == 0, done.stderr  # another process has room
    hold = "import sys\nfrom node.client import Client\nheld = [Client(sys.argv[1]) for _ in range(64)]\nprint(1, flush=True)\ninput()\n"
    with subprocess.Popen([sys.executable, "-P", "-c", hold, node.socket], env=environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "1\n"
        done = roamcast("pub", "--control", node.socket, "kind=a")
        assert done.returncode == 2 and f"allows {control.MAX_CONNECTIONS} connections, and all" in done.stderr
        assert done.stderr.count("\n") == 1
        other.stdin.write("\n")
    for client in idle:
        client.close()
    until(lambda: _serves(node.socket), "there is no room again")
    node.end()
    assert {record["what"] for record in node.kinds("refused")} == {"control connections", "control connections of one process"}


def test_filters_are_bounded_in_all_and_the_node_goes_on_while_they_leave(node):
    node.start()
    node.ready()
    programs = [Client(node.socket, timeout=PATIENCE) for _ in range(5)]
    for number, client in enumerate(programs):
        most = min(clients.MAX_FILTERS_PER_CLIENT, clients.MAX_FILTERS - number * clients.MAX_FILTERS_PER_CLIENT)
        for count in range(most):
            client.subscribe(f"a{number} > {count} and b = {count}")
        with pytest.raises(ClientError, match="at most"):
            client.subscribe("one.more exists")
    with Client(node.socket, timeout=PATIENCE) as other:
        for client in programs:
            client.close()
        while node.records.read_bytes().count(b'"unsubscribed"') < clients.MAX_FILTERS:
            other.publish({"kind": "a"})
        other.subscribe("one.more exists")
    node.end()
    kinds = [record["kind"] for record in node.kinds("published", "unsubscribed")]
    first, last = kinds.index("unsubscribed"), len(kinds) - kinds[::-1].index("unsubscribed")
    assert kinds[first:last].count("published") > 3  # other programs were served between the slices
    whats = {record["what"].split(" of client")[0] for record in node.kinds("refused")}
    assert whats == {"filters", "filters of all clients"}


def test_two_nodes_that_start_at_once_over_a_dead_socket_are_one(nodes, tmp_path):
    for turn in range(3):
        where = tmp_path / f"{turn}.sock"
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(where))
        two = [nodes(f"{turn}-{k}", k) for k in range(2)]
        for one in two:
            one.socket = where
            one.start()
        until(lambda: any(one.process.poll() is not None for one in two), "both believe that the socket is theirs")
        (lost,), (kept,) = ([one for one in two if (one.process.poll() is None) == alive] for alive in (False, True))
        assert lost.process.returncode == 2 and "a node already listens here" in lost.said.read_text()
        def answering() -> int | None:
            try:
                with Client(where) as client:
                    return client.node
            except ClientError:
                return None
        assert until(lambda: answering() is not None, "nobody answers") and str(answering()) == kept.bare[6]
        assert kept.end() == 0 and not where.exists()


@pytest.mark.parametrize("option", ["--records", "--journal", "--state"])
def test_a_second_node_on_the_same_files_is_refused(nodes, tmp_path, option):
    one, other = nodes("1", 1), nodes("2", 2)
    shared = str(tmp_path / "shared")
    one.start(option, shared, records=option != "--records")
    one.ready()
    try:
        done = subprocess.run(other.command(option, shared), env=environment(), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert f"{shared}: another node that runs has this file; stop it or choose another path for {option}" in done.stderr
    finally:
        one.end(signal.SIGKILL)
    one.start(option, shared, records=option != "--records")  # a lock ends with its process
    until(lambda: one.process.poll() is not None or _serves(one.socket), "the node does not come back")
    assert one.end() == 0 and not list(tmp_path.glob("*.lock"))


def _serves(path: Path) -> bool:
    try:
        Client(path, timeout=1).close()
    except ClientError:
        return False
    return True


# ---- what is told


def test_settle_says_at_once_that_nobody_has_to_be_told(node):
    node.start()
    node.ready()
    with Client(node.socket) as client:
        client.subscribe("*")
        assert client.settle(0.0) is True
        assert client.unsubscribe("*") is True and client.unsubscribe("*") is False


@pytest.mark.parametrize(("request_", "says"), [
    ({"do": "subscribe", "fitler": "*"}, "takes no 'fitler'; it takes filter"),
    ({"do": "subscribe"}, '"subscribe" takes "filter", a text'),
    ({"do": "publish", "attributes": {}, "sync": True}, "takes no 'sync'; it takes attributes and payload and synced"),
    ({"do": "publish", "attributes": {}, "synced": 1}, '"publish" takes "synced", true or false'),
    ({"do": "publish", "attributes": {}, "payload": None}, '"publish" takes "payload", a text'),
    ({"do": "settle", "within": 1e9}, '"within" is a number of seconds from 0 to 60'),
    ({"do": "settle", "within": float("nan")}, '"within" is a number of seconds from 0 to 60'),
    ({"do": "leave"}, '"do" is one of subscribe, unsubscribe, publish, settle'),
])
def test_requests_that_say_more_or_less_than_they_can_are_refused(request_, says):
    with pytest.raises(lines.BadLine) as refused:
        lines.check(request_)
    assert says in str(refused.value)


def test_a_key_that_stands_twice_is_refused():
    with pytest.raises(lines.BadLine, match="'a' stands there twice"):
        lines.decode(b'{"do":"publish","attributes":{"a":1,"a":2}}')


def test_a_log_on_a_full_disk_stops_no_node(node):
    with open("/dev/full", "wb") as full:
        node.process = subprocess.Popen([*node.command(), "--control", str(node.socket)], env=environment(), stderr=full)
    node.ready()
    time.sleep(0.2)
    with Client(node.socket) as client:
        client.publish({"kind": "a"})
    assert node.end() == 0


@pytest.mark.parametrize("command", [["pub", "kind=a"], ["sub", "*"]], ids=" ".join)
def test_pub_and_sub_onto_a_full_disk_end_with_a_sentence(node, command):
    node.start()
    node.ready()
    with open("/dev/full", "w") as full:
        program = subprocess.Popen([sys.executable, "-P", "-m", "cli", command[0], "--control", node.socket, command[1]],
                                   env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
        if command[0] == "sub":
            assert program.stderr.readline() == "subscribed: *\n"
            with Client(node.socket) as client:
                client.publish({"kind": "a"})
        _, said = program.communicate(timeout=PATIENCE)
    assert program.returncode == 1
    assert said == "roamcast: cannot write the output: No space left on device; free some space, or send it elsewhere\n"


def test_sub_tells_at_once_of_a_filter_that_can_never_match(node):
    node.start()
    node.ready()
    program = subprocess.Popen([sys.executable, "-P", "-m", "cli", "sub", "--control", node.socket, "a = 1 and a = 2", "a = 1"],
                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert [program.stderr.readline() for _ in range(3)] == [
        "subscribed: a = 1 and a = 2\n", "roamcast: no event can ever match it: a = 1 and a = 2, which exclude each other\n",
        "subscribed: a = 1\n"]
    program.terminate()
    program.communicate(timeout=PATIENCE)
    assert node.end() == 0
