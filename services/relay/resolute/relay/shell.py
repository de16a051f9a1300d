"""The relay as a service."""

from __future__ import annotations

from resolute.relay.relay import Relay
from resolute.service import Context


async def serve(context: Context) -> None:
    await Relay(context.log, context.bus, lambda: context.on_ready("relay")).run()
