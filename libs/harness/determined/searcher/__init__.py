"""Searching hyperparameters by a method of one's own, from one's own process: `searcher.name: custom`.

Write a `SearchMethod`, give it to a `LocalSearchRunner`, and `run` it. The method hears what happened and answers what
to do next; whatever dies meanwhile, running it again goes on where it was.
"""

from __future__ import annotations

from determined.searcher._method import Close as Close
from determined.searcher._method import Create as Create
from determined.searcher._method import ExitedReason as ExitedReason
from determined.searcher._method import Operation as Operation
from determined.searcher._method import Progress as Progress
from determined.searcher._method import SearcherState as SearcherState
from determined.searcher._method import SearchMethod as SearchMethod
from determined.searcher._method import Shutdown as Shutdown
from determined.searcher._method import ValidateAfter as ValidateAfter
from determined.searcher._runner import LocalSearchRunner as LocalSearchRunner

__all__ = [
    "Close",
    "Create",
    "ExitedReason",
    "LocalSearchRunner",
    "Operation",
    "Progress",
    "SearchMethod",
    "SearcherState",
    "Shutdown",
    "ValidateAfter",
]
