"""A job in a network namespace of its own, for tests that need interfaces; it is gone with the process that does it."""
from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from emulation.linux import kernel


def elsewhere(job: Callable[[], object]) -> str:
    """What a job raises there, as "Kind: text"; empty for nothing."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = ""
        try:
            kernel.unshare(kernel.CLONE_NEWNET)
            job()
        except BaseException as error:
            traceback.print_exc()
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(pid, 0)
    return said
