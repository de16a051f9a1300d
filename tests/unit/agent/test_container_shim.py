"""What a container's first process says at the end, to whoever may be there to hear it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

# Only its last words: all of it is the first process of a container, and kills whatever else it sees.
LAST_WORDS = """
from resolute.agent import container_shim
container_shim.REPEAT_S = container_shim.ACKNOWLEDGE_S = 0.05
shim = container_shim.ContainerShim(1.0, lambda out, err: None)
shim.status, shim.asked = 3 << 8, {asked}
shim._write_exit()
"""


def last_words(asked: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", LAST_WORDS.format(asked=asked)], stdout=subprocess.PIPE)


def test_the_end_is_said_again_until_somebody_has_heard_it() -> None:
    with last_words(asked=False) as shim:
        assert shim.stdout is not None
        for _ in range(3):
            assert re.fullmatch(rb"[0-9.]+ x 3 0\n", shim.stdout.readline())
        shim.send_signal(signal.SIGURG)
        assert shim.wait(60) == 0


def test_one_that_was_told_to_end_does_not_wait_for_ever() -> None:
    with last_words(asked=True) as shim:
        assert shim.stdout is not None
        assert re.fullmatch(rb"[0-9.]+ x 3 1\n", shim.stdout.read())
        assert shim.wait(60) == 0
