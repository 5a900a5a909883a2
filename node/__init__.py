"""The node: client and content-based broker of one host, with no input or output of its own."""

__version__ = "0.1.0"
