"""The world `sim`: virtual time, one process, deterministic.

    simulation.py    a broker a host behind the port, driven by a heap of actions
    world.py         a run of a scenario: its workload and faults, its manifest
    observe.py       a run that leaves nothing behind, for sweeps
    involvement.py   which brokers a change of the tree involves
"""
