"""Clients that roam: hosts that are no broker, attach to one over the radio and move on (docs/roaming.md).

cugola-murphy-picco-mobile-environment, section 4 (JEDI's moveOut and moveIn), over subscription forwarding and a
tree that changes; correctness is jaeger-self-managing-thesis, definition 5. Words: a *device* is such a host, a
*session* what a broker holds for one, a *holder* a broker that may still have events for one.

    device      the host's side: a core like `broker.Broker`, with clients and without a tree
    uplink      what a device has in place of routing
    beacons     which brokers it hears, and how well
    question    whether its broker still answers
    buffer      what waits for a channel: bounded in bytes and in age
    proofs      who knows a device's key
    session     what a broker holds for one device
    sessions    the broker's side: attaching, filters, publications, absence
    handoff     brokers among themselves: STOP, HANDED, FETCH
    client      a program's way to a device of its own, over UDP
"""
