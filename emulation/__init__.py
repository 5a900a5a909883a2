"""The worlds in which nodes run, the radio medium that they share, the runner and the captures."""
