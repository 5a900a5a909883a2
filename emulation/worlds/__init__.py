"""The worlds in which nodes run, a folder each."""
