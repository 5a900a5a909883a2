"""What the codes in records mean that the report shows: why tree links closed, why nodes dropped messages.

The nodes' own words (node/trees, node/neighbors.py, node/links.py, node/wire.py); docs/analysis.md
has the same list, and a test holds all three together.
"""
from __future__ import annotations

LINK_LOST = {
    "silent": "nothing was heard of the neighbor for hello_losses intervals",
    "one_way": "the neighbor says that it hears this node no more",
    "restarted": "the neighbor's node started again: its tables are gone",
    "channel": "the reliable channel gave up: too many retransmissions, or too long without an acknowledgement",
    "reset": "the far end does not know the link (any more) and said so",
    "malformed": "what came out of the channel was no message",
    "unanswered": "the far end did not answer a relayed message or a probe",
    "left": "the far end closed the link and said so",
    "no_leader": "the parent passed on no beacon of the leader for too long",
    "far_end": "the far end seeks a replacement of this link already",
    "replaced": "the tree has another link in its place already",
    "superseded": "a newer link to the same neighbor took its place",
    "crossed": "both ends took each other for the parent, or neither: of use to none",
    "scripted": "the script of the tree said so",
}

DROPPED = {
    "own": "a datagram under this node's own identity",
    "stale": "a repeated datagram, or one of an earlier life of its sender",
    "oversize": "longer than a datagram or a message may be",
    "short": "cut off",
    "magic": "not of this protocol",
    "version": "of another version of the protocol",
    "flags": "with header flags that are not known",
    "epoch": "with epoch 0, which no node has",
    "cbor": "its body is no CBOR",
    "noncanonical": "its CBOR is not in the one form that is allowed",
    "message": "its body is no known message",
    "scope": "a message where it may not stand",
    "field": "a message with a field out of its limits",
    "authenticated": "with a tag though this node has no secret",
    "unauthenticated": "without a tag though this node has a secret",
    "forged": "its tag is not that of this node's secret",
    "misplaced": "a known message that this node's protocols do not take, or not there",
    "malformed": "what came out of a channel was no message",
    "dead_link": "for a link that is not open here",
    "not_neighbor": "relayed by a node that is no two-way neighbor (yet)",
    "not_relayed": "to be passed on along a route whose next node did not answer",
    "bad_route": "its route does not lead over this node as it must",
    "bad_path": "its path through the tree is not one",
    "not_parent": "from a node that is not the parent (any more)",
    "stale_beacon": "an older beacon of the leader than the one known",
    "late": "the answer to a request that is over",
    "unasked": "the answer to a request that was not made, or for a link that is not known",
    "digest": "gossip or a request that names more events than a message may",
    "flooded": "gossip, requests or answers beyond what a node handles in a gossip interval",
    "not_repeated": "an event of a flood beyond the limits of hops or of what waits to be repeated",
}
