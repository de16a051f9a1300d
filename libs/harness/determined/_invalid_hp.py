"""The exception by which model code rejects its hyperparameters."""

from __future__ import annotations


class InvalidHP(Exception):
    """Raise it from a trial, on any of its ranks: the trial ends early, and the search replaces it."""

    def __init__(self, msg: str = "the trial's code found its hyperparameters to be invalid") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes a message, not a {type(msg).__name__}")
        super().__init__(msg)
        self.msg = msg
