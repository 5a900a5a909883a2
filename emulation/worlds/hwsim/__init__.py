"""The world `hwsim`: as `netns`, but every host's wlan0 is a radio of the kernel's real 802.11 stack.

mac80211_hwsim makes radios without hardware. Whoever registers at its netlink port gets every frame that they send and
says who receives it, and to the sender what became of it. Here that is our medium, so that one radio model and one trace
hold in all worlds.

    radio.py      a host's radio: made in its namespace, in ad hoc mode (IBSS), joined
    frames.py     frames and transmission reports as netlink messages
    ends.py       how the radio model reads and writes them, and captures with the signals

All else is emulation/realtime: processes, self-check, faults, fidelity.
"""
