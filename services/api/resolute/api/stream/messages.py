"""The request that becomes a WebSocket. What is said on it afterwards is read by `asking` and written by `kinds`."""

from __future__ import annotations

from resolute.api.kernel.messages import Request


class StreamUpdates(Request):
    pass
