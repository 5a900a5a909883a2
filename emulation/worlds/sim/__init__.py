"""The world `sim`: virtual time, one process, deterministic."""
