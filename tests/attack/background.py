"""What goes on beside an attack: a thread that does one thing again and again until the attack is over."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

END_S = 30.0
"""How long the last round may take to end."""


class Background(ABC):
    """Calls `round` every `every_s` seconds while the block of `at_work` lasts, and `finish` when it is over."""

    every_s = 0.1

    def __init__(self) -> None:
        self._stop = threading.Event()

    @abstractmethod
    def round(self) -> None:
        """One turn of the work. Expected errors are dealt with inside it: any other ends the thread."""

    def finish(self) -> None:  # noqa: B027  (most have nothing to give back)
        """Gives back what was held."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, name=type(self).__name__, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(END_S)
            self.finish()

    def _work(self) -> None:
        while not self._stop.wait(self.every_s):
            self.round()
