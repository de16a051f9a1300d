"""The cluster's REST interface as a task uses it."""

from __future__ import annotations

from determined.common.api import errors as errors
from determined.common.api._retry import RetryPolicy as RetryPolicy
from determined.common.api._session import Session as Session
from determined.common.api._session import segment as segment

__all__ = ["RetryPolicy", "Session", "errors", "segment"]
