"""Custom search methods, which run in the user's own process: `searcher.name: custom`.

Write a `SearchMethod`, pass it to a `LocalSearchRunner`, and `run` it. The method gets events and returns operations.
After a crash of any part, running it again continues the same search.
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
