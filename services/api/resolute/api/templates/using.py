"""The template that a submission is built on."""

from __future__ import annotations

from typing import Any

from resolute.api.call import Call
from resolute.api.templates.queries import QUERIES
from resolute.proto.errors import NotFound


async def template_named(call: Call, name: str) -> dict[str, Any]:
    """The configuration of a template with its secrets; empty where no template is named. The route of the submission
    says that it is about a template, so that the caller may see it. Raises NotFound."""
    if not name:
        return {}
    await call.gateway.read.catch_up()  # what another gateway changed a moment ago counts
    row = await call.gateway.ports.of(QUERIES).template(name)
    if row is None:
        raise NotFound(f"template: there is no template named {name!r}")
    config, _ = await call.gateway.vault.opened(row.config)
    return config
