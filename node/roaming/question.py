"""A device's question whether its broker is still there: ALIVE, which the broker answers with SERVED.

cugola-murphy-picco-mobile-environment, section 4 leaves it to the client to know when it is out of reach. The device
asks every ALIVE_BEACONS beacon intervals, which tells the broker that the device is there, too; and at once when
a beacon is missing. A question is repeated until it is answered, or until the missing beacons and answers are
rarer than RUN_ODDS for a broker in range, by the share of beacons that get lost: then the device is on its own. That
takes MOST_TRIES at most.
"""
from __future__ import annotations

from collections.abc import Callable
from enum import auto

from node import wire
from node.config import NodeConfig
from node.environment import Runtime, Timer
from node.ids import NodeId, Peer
from node.neighbor import PROBES, RUN_ODDS
from node.relay import WAITS
from node.roaming.beacons import Beacons
from node.state import Changes, State, changed

ALIVE_BEACONS = 4  # beacon intervals between two questions
MOST_TRIES = 32  # of one question: 5 s


class Phase(State):
    IDLE = auto()  # the device is not attached
    RESTING = auto()  # until the next question
    ASKING = auto()


CHANGES: Changes[Phase] = {
    Phase.IDLE: {Phase.RESTING},
    Phase.RESTING: {Phase.ASKING, Phase.IDLE},
    Phase.ASKING: {Phase.RESTING, Phase.IDLE},
}


class Question:
    """Of one device. `say(broker, message)` sends; `unanswered()` is called once, when the broker is given up."""

    def __init__(self, config: NodeConfig, env: Runtime, beacons: Beacons, say: Callable[[NodeId, wire.Message], object],
                 unanswered: Callable[[], object]) -> None:
        self._config = config
        self._env = env
        self._beacons = beacons
        self._say = say
        self._unanswered = unanswered
        self._phase = Phase.IDLE
        self._of: tuple[Peer, int] | None = None  # the broker, the nonce of the channel, while it is not idle
        self._timer: Timer | None = None
        self._tries = 0  # of the question that is open
        self._since = 0.0  # s

    def begin(self, broker: Peer, nonce: int) -> None:
        """The device is attached."""
        self.end()
        self._of = broker, nonce
        self._rest()

    def end(self) -> None:
        """It is so no more."""
        self._of = None
        self._enter(Phase.IDLE)
        self._set(None)

    def look(self) -> None:
        """Ask at once if the broker has been silent for too long. To be called a few times a beacon interval."""
        if self._phase is Phase.RESTING and self._of is not None and self._beacons.is_suspected(self._of[0].node):
            self._set(None)
            self._ask()

    def answered(self, sender: Peer, message: wire.Served) -> None:
        if self._of == (sender, message.nonce) and self._phase is Phase.ASKING:
            self._set(None)
            self._rest()

    def _enter(self, phase: Phase) -> None:
        self._phase = changed(CHANGES, self._phase, phase)

    def _rest(self) -> None:
        self._enter(Phase.RESTING)
        wait = ALIVE_BEACONS * self._config.hello_interval * self._env.random.uniform(0.9, 1.1)
        self._set(self._env.call_later(wait, self._ask))

    def _set(self, timer: Timer | None) -> None:
        """One timer runs at most."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _ask(self) -> None:
        self._enter(Phase.ASKING)
        self._tries = 0
        self._since = self._env.now()
        self._try()

    def _try(self) -> None:
        if self._of is None:
            return
        broker, nonce = self._of
        if self._tries >= PROBES and self._is_hopeless(broker.node):
            self.end()
            self._unanswered()
            return
        wait = WAITS[min(self._tries, len(WAITS) - 1)] * self._env.random.uniform(0.85, 1.15)
        self._tries += 1
        self._timer = self._env.call_later(wait, self._try)
        self._say(broker.node, wire.Alive(nonce))

    def _is_hopeless(self, node: NodeId) -> bool:
        """A broker that is heard is asked for as long as a channel to it would try: it may be busy."""
        if not self._beacons.is_suspected(node) and self._env.now() - self._since < self._config.channel_give_up:
            return False
        return self._tries >= MOST_TRIES or self._beacons.odds(node, self._tries) <= RUN_ODDS
