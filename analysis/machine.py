"""What Spark needs of the machine besides Java, asked before a run that would be analysed in vain. Standard library only."""
from __future__ import annotations

import socket

from analysis.errors import AnalysisError


def check() -> None:
    """Whether this machine knows `localhost`, at which PySpark listens to its own Java. Raises AnalysisError."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
            server.bind(("localhost", 0))
    except OSError as error:
        raise AnalysisError(f"this machine cannot resolve localhost ({error.strerror or error}), which Spark needs to analyse runs; "
                            "as root, run: echo '127.0.0.1 localhost' >> /etc/hosts (run --no-analysis needs no Spark)") from None
