"""The world `mininet`: the stations, radios and medium are Mininet-WiFi's, the nodes, the movement and the records ours.

As `netns`, with three differences:

    network.py   has Mininet-WiFi make the stations, in namespaces of this run; says so where there is none
    driver.py    what is done by Mininet-WiFi, run by the Python that has it
    replay.py    where stations are, for wmediumd, and how its radio is given the scenario's range
    station.py   a host: the station's namespace, joined to the network, its capture begun
    carrier.py   in the medium's place: moves the stations, captures, knows who is in range
    loop.py      a real device in a station's place

The frames are carried by wmediumd. All else is emulation/realtime: processes, self-check, faults, fidelity.
"""
