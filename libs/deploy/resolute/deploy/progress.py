"""Lines of progress with the time that each step took."""

from __future__ import annotations

import time


class Progress:
    def __init__(self) -> None:
        self._began_at = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began_at

    def say(self, text: str) -> None:
        print(f"[{self.elapsed_s:5.1f} s] {text}", flush=True)
