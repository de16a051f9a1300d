"""What a gateway keeps for the way in to tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from resolute.api import tls
from resolute.api.kernel.ports import Ports
from resolute.api.places import Places
from resolute.api.proxy.connector import Clients
from resolute.api.proxy.dials import Dials
from resolute.api.proxy.targets import Targets
from resolute.api.proxy.usage import Usage
from resolute.api.settings import ApiSettings
from resolute.bus import Bus


class Proxied:
    def __init__(self, settings: ApiSettings, bus: Bus, places: Places, ports: Ports) -> None:
        self.dials = Dials(bus, settings.proxy, tls.context(settings.tls_cert, settings.tls_key))
        self.clients = Clients(self.dials, settings.proxy)
        self.targets = Targets(places, ports)
        self.usage = Usage(bus)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Agents may connect until left."""
        async with self.dials.listening():
            try:
                yield
            finally:
                await self.clients.close()
