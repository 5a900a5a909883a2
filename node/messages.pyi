"""Written by `python -m node.schema.typed` from schema/messages.toml: change it there, and write this again."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from node.filters.language import Filter, Value
from node.ids import Epoch, NodeId

__all__ = [
    "Message",
    "Hello",
    "Data",
    "Fragment",
    "Ack",
    "Reset",
    "Beat",
    "News",
    "Missed",
    "Sub",
    "Unsub",
    "Event",
    "Late",
    "Resync",
    "Snapshot",
    "Relay",
    "RelayAck",
    "Leader",
    "Rreq",
    "Rrep",
    "Join",
    "Grant",
    "Refuse",
    "Activate",
    "Replaced",
    "Offer",
    "Leave",
    "Probe",
    "Flush",
    "SubFlush",
    "Routed",
    "InformedActivate",
    "Reserve",
    "Reserved",
    "Rec",
    "RecAck",
    "Broken",
    "PathRefused",
    "Flood",
    "TaggedEvent",
    "PushGossip",
    "GossipRequest",
    "GossipAnswer",
    "SubscriberPull",
    "PublisherPull",
    "Counters",
    "Part",
    "Once",
    "Attach",
    "Attached",
    "Alive",
    "Served",
    "MoveOut",
    "MovedOut",
    "Want",
    "Unwant",
    "MoveIn",
    "Ready",
    "Settled",
    "HandOut",
    "Publish",
    "Stop",
    "Handed",
    "Fetch",
]

class Message(tuple[Any, ...]):
    code: ClassVar[int]
    name: ClassVar[str]
    family: ClassVar[str]
    scope: ClassVar[str]

CLASSES: Mapping[str, type[Message]]

class _Hello(NamedTuple):
    sequence: int  # grows by one a beacon
    interval: int  # ms: to the next beacon, before jitter
    heard: tuple[tuple[NodeId, Epoch], ...]  # neighbors heard, their epoch
    hearing: int  # neighbors heard in all; when more than listed, the list rotates from beacon to beacon
    leader: NodeId  # leader of the sender's tree; an orphan fragment names its root
    depth: int  # hops from the leader along the tree
    seeking: bool  # the fragment has no leader at present
    digests: tuple[tuple[NodeId, int, int, bytes], ...]  # tree neighbor, nonce of the link, position in its channel, digest of what was told up to there

class Hello(_Hello, Message):
    """Beacon of a node: whom it hears, and where it stands in its tree."""

class _Data(NamedTuple):
    addressees: tuple[tuple[NodeId, int, int], ...]  # neighbor, nonce of the link, sequence number in its channel
    message: Message  # what the channel carries

class Data(_Data, Message):
    """One message in the reliable channels of one or several tree links, unicast or broadcast."""

class _Fragment(NamedTuple):
    addressees: tuple[tuple[NodeId, int, int], ...]  # as in DATA
    last: bool  # the message is complete with this piece
    piece: bytes  # a piece of the encoded message

class Fragment(_Fragment, Message):
    """A piece of a message too large for one datagram; takes a sequence number of its own."""

class _Ack(NamedTuple):
    to: NodeId  # far end of the link
    nonce: int  # of the link
    expected: int  # next sequence number wanted; all below have come
    beyond: int  # bit i: expected + 1 + i has come too (a sender keeps at most 64 in flight)

class Ack(_Ack, Message):
    """Cumulative and selective acknowledgement of one channel; may ride in a broadcast, so it names its addressee."""

class _Reset(NamedTuple):
    nonce: int  # of the link that is dead

class Reset(_Reset, Message):
    """The link of this nonce does not exist here; answers a message of a dead incarnation."""

class _Beat(NamedTuple):
    sequence: int  # of the beacon, modulo 16
    check: int  # first two bytes of the BLAKE2s of a HELLO of sequence 0 that says all this

class Beat(_Beat, Message):
    """Beacon of a node that says what its last one said."""

class _News(NamedTuple):
    sequence: int  # as in BEAT
    heard: tuple[tuple[NodeId, Epoch], ...] | None  # as in HELLO, all of them
    standing: tuple[NodeId, int, bool] | None  # leader, depth and seeking of HELLO
    digests: tuple[tuple[NodeId, int, int, bytes], ...] | None  # as in HELLO
    check: int  # as in BEAT

class News(_News, Message):
    """Beacon of a node that says what is new; what is null is as in its last one."""

class _Missed(NamedTuple):
    nodes: tuple[NodeId, ...]  # whose beacons do not fit what is known of them

class Missed(_Missed, Message):
    """Rides with a beacon: the sender missed what these neighbors say; their next beacon is a HELLO."""

class _Sub(NamedTuple):
    filters: tuple[Filter, ...]  # each a filter newly told
    since: int | None  # 10 ms: ago: matching events since then are wanted too, they may have been missed; null: only those to come

class Sub(_Sub, Message):
    """Events that match these filters are wanted over this link."""

class _Unsub(NamedTuple):
    filters: tuple[bytes, ...]  # hashes of filters told before

class Unsub(_Unsub, Message):
    """Events that match these filters are no longer wanted over this link."""

class _Event(NamedTuple):
    source: NodeId  # the publisher's broker
    epoch: Epoch  # its boot epoch
    sequence: int  # counts the events of (source, epoch)
    published: float  # s: by the source's clock
    hops: int  # links crossed so far
    attributes: Mapping[str, Value]  # what filters look at
    payload: bytes  # what nobody looks at

class Event(_Event, Message):
    """A published event on its way along the tree."""

class _Late(NamedTuple):
    age: int  # ms: since it was published, about
    event: Message  # EVENT or TAGGED_EVENT

class Late(_Late, Message):
    """An event that was published a while ago, for who may have missed it while the tree changed."""

class _Resync(NamedTuple):
    position: int  # of the channel at which the two were compared; void if filters were told behind it

class Resync(_Resync, Message):
    """The digest in a HELLO disagrees with the filters held for this link: answer with SNAPSHOT."""

class _Snapshot(NamedTuple):
    part: int  # counts from 0; a gap voids the snapshot
    last: bool  # the snapshot is complete with this part
    filters: tuple[Filter, ...]  # in the order of their hashes

class Snapshot(_Snapshot, Message):
    """A part of all filters told over this link; the whole replaces what the receiver holds for it."""

class _Relay(NamedTuple):
    number: int  # counts what the sender relays to this neighbor
    message: Message  # what is relayed

class Relay(_Relay, Message):
    """One hop of a multi-hop message; repeated until RELAY_ACK comes or patience ends."""

class _RelayAck(NamedTuple):
    number: int  # of the RELAY

class RelayAck(_RelayAck, Message):
    """The RELAY of this number has come."""

class _Leader(NamedTuple):
    leader: NodeId  # root of the tree; of an orphan fragment while seeking
    epoch: Epoch  # the leader's boot epoch
    sequence: int  # grows by one a beacon of (leader, epoch)
    depth: int  # of the sender
    seeking: bool  # the root is an orphan that looks for a new link
    path: tuple[NodeId, ...]  # root path: the sender, its parent and so on

class Leader(_Leader, Message):
    """Where the sender stands, told to its children: the leader's beacon on its way down the tree."""

class _Rreq(NamedTuple):
    rid: tuple[NodeId, NodeId, int] | None  # the lost link: lower id, higher id, nonce
    request: int  # counts the requests of the seeker, who is the first of `hops`
    attempt: int  # of this repair, from 1; the depth rule holds for the first
    depth: int  # of the seeker before the loss
    former: tuple[NodeId, ...]  # root path of the seeker before the loss, itself first, then the far old end
    hops: tuple[NodeId, ...]  # so far, the seeker first and the sender last
    crossing: int | None  # index in `hops` of the node after the non-tree link

class Rreq(_Rreq, Message):
    """Route request of an orphan: broadcast in its fragment and once across a non-tree link, then relayed up."""

class _Rrep(NamedTuple):
    request: int  # of the seeker, who is the first of `hops`
    hops: tuple[NodeId, ...]  # of the request, up to the replier
    crossing: int  # index in `hops` of the node after the non-tree link
    depth: int  # of the replier
    path: tuple[NodeId, ...]  # root path of the replier, itself first, up to where it meets the seeker's former one
    seeking: bool  # the replier's fragment has no leader either

class Rrep(_Rrep, Message):
    """Route reply, back along the hops of its request."""

class _Join(NamedTuple):
    request: int  # counts the joins of the root, who is the first of `route`
    rid: tuple[NodeId, NodeId, int] | None  # the lost link, when this is a repair
    path: tuple[NodeId, ...]  # reconfiguration path, near old end first, for the far new end; empty: unknown
    route: tuple[NodeId, ...]  # the root, ..., near new end, far new end
    walk: tuple[NodeId, ...]  # nodes met from the far new end upward

class Join(_Join, Message):
    """Request of a root to open a link: along `route`, over its last hop, then up parent by parent to a root."""

class _Grant(NamedTuple):
    request: int  # of the JOIN
    route: tuple[NodeId, ...]  # of the JOIN
    walk: tuple[NodeId, ...]  # of the JOIN, complete
    nonce: int  # of the link to open; the far new end sets it, 0 before

class Grant(_Grant, Message):
    """The root at the end of the walk lets the other root join; back along walk and route."""

class _Refuse(NamedTuple):
    request: int  # of the JOIN
    route: tuple[NodeId, ...]  # of the JOIN
    walk: tuple[NodeId, ...]  # of the JOIN, as far as it came
    reason: str  # busy, met, gone, far

class Refuse(_Refuse, Message):
    """The JOIN went no further; back along walk and route."""

class _Activate(NamedTuple):
    rid: tuple[NodeId, NodeId, int] | None  # the lost link, when this is a repair
    path: tuple[NodeId, ...]  # reconfiguration path, near old end first; empty: unknown
    route: tuple[NodeId, ...]  # of the JOIN
    nonce: int  # of the link to open
    over: int  # nonce of the tree link that this hop travels; of the new one at last

class Activate(_Activate, Message):
    """The root has joined: along the route each node turns its parent pointer, and the last two open the link."""

class _Replaced(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    new: tuple[NodeId, NodeId, int]  # the link that replaces it
    path: tuple[NodeId, ...]  # reconfiguration path, near old end first

class Replaced(_Replaced, Message):
    """A link was replaced: from the far new end along the reconfiguration path to the far old end."""

class _Offer(NamedTuple):
    leader: NodeId  # of the other tree
    depth: int  # of the neighbor in the other tree
    far: NodeId  # the neighbor in the other tree
    hops: tuple[NodeId, ...]  # the node that met it first, the sender last

class Offer(_Offer, Message):
    """A node met another tree whose leader comes first; up to its own leader."""

class _Leave(NamedTuple):
    nonce: int  # of the link

class Leave(_Leave, Message):
    """The sender has given up the tree link of this nonce to the receiver."""

class _Probe(NamedTuple):
    nonce: int  # of the link

class Probe(_Probe, Message):
    """Nothing was heard over the tree link of this nonce for a while: the RELAY_ACK says that it is alive, LEAVE that it is not open there."""

class _Flush(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    path: tuple[NodeId, ...]  # reconfiguration path that it is confined to; empty: to all of the tree

class Flush(_Flush, Message):
    """Behind the subscriptions that a new link brought: an old end that receives it knows that they have come."""

class _SubFlush(NamedTuple):
    filters: tuple[Filter, ...]  # as in SUB
    since: int | None  # 10 ms: as in SUB
    rid: tuple[NodeId, NodeId, int]  # as in FLUSH

class SubFlush(_SubFlush, Message):
    """A SUB with a FLUSH on its back."""

class _Routed(NamedTuple):
    route: tuple[NodeId, ...]  # the sender first
    message: Message  # for the last of the route

class Routed(_Routed, Message):
    """A message off the tree, relayed along a list of ids to the last of them."""

class _InformedActivate(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    part: int  # counts from 0
    parts: int  # messages that make up the whole
    filters: tuple[bytes, ...]  # hashes of filters that were wanted over the lost link only

class InformedActivate(_InformedActivate, Message):
    """An old end's word to the new end of its side: do not tell the new link these filters yet (the paper's ACTIVATE)."""

class _Reserve(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    new: tuple[NodeId, NodeId, int]  # the link that replaces it
    path: tuple[NodeId, ...]  # reconfiguration path, the initiator first

class Reserve(_Reserve, Message):
    """Along the reconfiguration path: each of its brokers takes part in this reconfiguration and no other."""

class _Reserved(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    refused: str  # empty: all are reserved; else why not: busy, gone, unknown

class Reserved(_Reserved, Message):
    """The answer to RESERVE, back along the path."""

class _Rec(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    add: tuple[Filter, ...]  # now routed by the sender to the receiver
    remove: tuple[bytes, ...]  # hashes of filters that the sender no longer wants

class Rec(_Rec, Message):
    """One step of a reconfiguration along its path; the receiver counts as having told its sender `add`."""

class _RecAck(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link

class RecAck(_RecAck, Message):
    """REC has come; what follows in this channel was sent with it in mind."""

class _Broken(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link
    begun: bool  # REC has passed: the links of the path exchange snapshots

class Broken(_Broken, Message):
    """The reconfiguration path broke: its brokers give it up."""

class _PathRefused(NamedTuple):
    rid: tuple[NodeId, NodeId, int]  # the lost link

class PathRefused(_PathRefused, Message):
    """From the initiator to the far old end: this path could not be reserved, go on by informed link activation."""

class _Flood(NamedTuple):
    event: Message  # EVENT

class Flood(_Flood, Message):
    """An event on its way to everyone, without a tree."""

class _TaggedEvent(NamedTuple):
    source: NodeId  # the publisher's broker
    epoch: Epoch  # its boot epoch
    sequence: int  # counts the events of (source, epoch)
    published: float  # s: by the source's clock
    hops: int  # links crossed so far
    attributes: Mapping[str, Value]  # what filters look at
    payload: bytes  # what nobody looks at
    counters: tuple[tuple[bytes, int], ...]  # hash of a filter that it matches, number among the source's events that match it
    route: tuple[NodeId, ...]  # brokers that it met, the source first and the sender last; empty: not recorded

class TaggedEvent(_TaggedEvent, Message):
    """An EVENT with what a pull needs to notice losses and to find the way back: the first fields are those of EVENT."""

class _PushGossip(NamedTuple):
    route: tuple[NodeId, ...]  # brokers that it met, the initiator first and the sender last
    pattern: bytes  # hash of the filter
    digest: tuple[tuple[NodeId, Epoch, tuple[int, ...]], ...]  # source, its epoch, sequence numbers of its events

class PushGossip(_PushGossip, Message):
    """Push: events in the initiator's cache that match a pattern (figure 2's gossipMsg)."""

class _GossipRequest(NamedTuple):
    digest: tuple[tuple[NodeId, Epoch, tuple[int, ...]], ...]  # as in PUSH_GOSSIP

class GossipRequest(_GossipRequest, Message):
    """Push: to the initiator, events of its digest that the sender has not received (figure 2's reqMsg)."""

class _GossipAnswer(NamedTuple):
    age: int  # ms: since it was published, about
    event: Message  # EVENT or TAGGED_EVENT

class GossipAnswer(_GossipAnswer, Message):
    """An event from a cache, to whoever asked for it."""

class _SubscriberPull(NamedTuple):
    route: tuple[NodeId, ...]  # brokers that it met, the initiator first and the sender last
    pattern: bytes  # hash of the filter
    lost: tuple[tuple[NodeId, Epoch, tuple[int, ...]], ...]  # source, its epoch, the numbers of its events for this filter

class SubscriberPull(_SubscriberPull, Message):
    """Subscriber pull: events of one pattern that the initiator has lost (figure 3, left, gossipMsg)."""

class _PublisherPull(NamedTuple):
    route: tuple[NodeId, ...]  # from the initiator to the source
    epoch: Epoch  # boot epoch of the source that published them
    lost: tuple[tuple[bytes, tuple[int, ...]], ...]  # hash of a filter, the numbers of the source's events for it

class PublisherPull(_PublisherPull, Message):
    """Publisher pull: events of one source that the initiator has lost, on the way back to it (figure 3, right, gossipMsg)."""

class _Counters(NamedTuple):
    latest: tuple[tuple[bytes, tuple[tuple[NodeId, Epoch, int], ...]], ...]  # hash of a filter; source, its epoch, the number of its last event for the filter

class Counters(_Counters, Message):
    """Pull: the latest numbers of events that the receiver wants, so that the last loss is noticed too."""

class _Part(NamedTuple):
    number: int  # of the message; counted by the first of the route
    part: int  # counts from 0
    parts: int  # that make up the whole
    piece: bytes  # of the encoded message

class Part(_Part, Message):
    """A part of a message off the tree that is larger than a datagram, in ROUTED."""

class _Once(NamedTuple):
    addressees: tuple[tuple[NodeId, int], ...]  # neighbor, nonce of the link
    message: Message  # what is sent

class Once(_Once, Message):
    """A message over one or several tree links beside their channels: sent once, not acknowledged, in no order."""

class _Attach(NamedTuple):
    nonce: int  # of the channel to open between the two
    turn: int  # grows by one an attachment of (device, epoch)
    key: bytes  # chosen at the first attachment; who does not know it is another device
    holders: tuple[tuple[NodeId, int, int], ...]  # brokers that may hold events for the device, earliest first: id, session, serial of the last event that it had from it
    paths: tuple[tuple[NodeId, ...], ...]  # of each of these, the path that it told last; empty: none

class Attach(_Attach, Message):
    """A device, which is no broker, wants this broker to serve it: moveIn begins. Repeated until ATTACHED comes."""

class _Attached(NamedTuple):
    nonce: int  # of the ATTACH
    session: int  # names what this broker holds for the device; 0 when it is refused
    refused: str  # empty: the channel is open; else why not: identity, full, moved, too_often
    path: tuple[NodeId, ...]  # the broker, its parent in the tree and so on: how the next broker finds it

class Attached(_Attached, Message):
    """The answer to ATTACH."""

class _Alive(NamedTuple):
    nonce: int  # of the channel

class Alive(_Alive, Message):
    """A device is still there, and asks whether its broker is: SERVED says so; a broker that does not know the channel answers with RESET."""

class _Served(NamedTuple):
    nonce: int  # of the channel
    path: tuple[NodeId, ...]  # as in ATTACHED

class Served(_Served, Message):
    """The answer to ALIVE: the channel is open here."""

class _MoveOut(NamedTuple):
    nonce: int  # of the channel, which ends
    leave: bool  # it does not come back: forget it

class MoveOut(_MoveOut, Message):
    """A device moves away: keep what comes for it. Repeated a few times until MOVED_OUT comes."""

class _MovedOut(NamedTuple):
    nonce: int  # of the channel that has ended

class MovedOut(_MovedOut, Message):
    """The answer to MOVE_OUT."""

class _Want(NamedTuple):
    filters: tuple[Filter, ...]  # each wanted from now on

class Want(_Want, Message):
    """Filters of a device."""

class _Unwant(NamedTuple):
    filters: tuple[bytes, ...]  # their hashes

class Unwant(_Unwant, Message):
    """Filters that a device takes back."""

class _MoveIn(NamedTuple):
    filters: int  # how many the device has

class MoveIn(_MoveIn, Message):
    """All filters of the device have been told: the new broker may stop the old ones and fetch."""

class _Ready(NamedTuple):
    waited: bool  # an old broker did not hand over in time; what it holds comes later, if it does

class Ready(_Ready, Message):
    """The handoff is over, or has been waited for long enough: the device may publish."""

class _Settled(NamedTuple):
    holder: NodeId  # one of those that ATTACH named
    session: int  # likewise

class Settled(_Settled, Message):
    """Nothing more is to be expected of this holder: the device forgets it."""

class _HandOut(NamedTuple):
    serial: int  # counts the events of the session
    late: bool  # handed over after READY: later events of its publisher may have come before
    event: Message  # EVENT, or LATE where the device must know whether it wanted the event then

class HandOut(_HandOut, Message):
    """An event for a device."""

class _Publish(NamedTuple):
    event: Message  # EVENT

class Publish(_Publish, Message):
    """An event of a device, whose id names the device as its source."""

class _Stop(NamedTuple):
    device: NodeId  # the device
    epoch: Epoch  # its boot epoch
    turn: int  # of its ATTACH
    request: int  # names this question; each repetition has one of its own
    holders: tuple[tuple[NodeId, int, int], ...]  # of the ATTACH
    proof: bytes  # BLAKE2s of the fields before under the device's key, new broker included
    route: tuple[NodeId, ...]  # brokers so far, the new one first
    way: tuple[NodeId, ...]  # the path in the tree from the new broker to a former one; empty: to all of the tree

class Stop(_Stop, Message):
    """A device has moved in: along the tree to a former broker, or through all of it, behind the subscriptions that it brought. Its former brokers hold no subscriptions for it any more and hand over what they have."""

class _Handed(NamedTuple):
    device: NodeId  # the device
    request: int  # of the STOP
    status: str  # events; unknown: it holds nothing for the device; refused: the device is another one here; astray: the way of the STOP goes no further
    serial: int  # place of the first of these events in what it holds
    last: bool  # nothing comes behind these
    events: tuple[Message, ...]  # EVENT or LATE each
    proof: bytes  # BLAKE2s of the fields before under the device's key, both brokers included; empty where that is not known
    route: tuple[NodeId, ...]  # the former broker first, the new one last

class Handed(_Handed, Message):
    """A former broker's answer to STOP and FETCH, back along the route: a part of what it holds."""

class _Fetch(NamedTuple):
    device: NodeId  # the device
    request: int  # of the STOP
    serial: int  # place of the next event
    proof: bytes  # BLAKE2s of the fields before under the device's key, both brokers included
    route: tuple[NodeId, ...]  # the new broker first, the former one last

class Fetch(_Fetch, Message):
    """The new broker has all events below `serial` and asks for those from there on. Behind the last one it has taken them over: the former broker forgets the device."""
