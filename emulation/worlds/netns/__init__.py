"""The world `netns`: every host a Linux network namespace with real sockets, its wlan0 a TAP device, in real time.

The radio model of the simulator carries the frames. All else is emulation/realtime.
"""
