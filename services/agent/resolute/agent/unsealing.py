"""Opens the sealed secrets of a task's configuration, as the last step before the task starts.

The order to start a task has its secrets in sealed form. The agent asks a gateway for the secrets, and keeps them only
until the task has started: no secret goes into the ledger or the agent's log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from resolute.agent.registry import needs_in
from resolute.agent.requests import Requests
from resolute.agent.runtime import CannotStart
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound, Refused
from resolute.proto.pool import StartTask
from resolute.service.sealing import SEALED, CannotOpen


def sealed_in(value: Any) -> bool:
    """Whether `value` contains a sealed value."""
    match value:
        case str():
            return SEALED.search(value) is not None
        case Mapping():
            return any(sealed_in(one) for one in value.values())
        case list() | tuple():
            return any(sealed_in(one) for one in value)
    return False


def with_secrets(value: Any, opened: Mapping[str, Any]) -> Any:
    """`value` with its sealed values replaced by the secrets: a whole text, or the part after `NAME=`. Text that only
    looks like a sealed value is not in `opened`, and is kept."""
    match value:
        case str():
            name, equals, rest = value.partition("=")
            if value in opened:
                return opened[value]
            return f"{name}={opened[rest]}" if equals and rest in opened else value
        case Mapping():
            return {key: with_secrets(one, opened) for key, one in value.items()}
        case list() | tuple():
            return [with_secrets(one, opened) for one in value]
    return value


async def opened(order: StartTask, requests: Requests, may_go_on: Callable[[], None]) -> StartTask:
    """The order with its secrets. `may_go_on` raises where the task is not wanted any more.

    Raises CannotStart: hopeless where the secrets were forgotten.
    """
    spec = order.spec
    needs = needs_in(order)
    if not any(map(sealed_in, (spec.config, spec.environment, needs.login))):
        return order
    try:
        found = await requests.secrets(order.token, may_go_on)
    except (Refused, NotFound) as error:
        raise CannotStart(error.message, hopeless=True) from error
    except (Forbidden, InvalidConfig, CannotOpen) as error:
        raise CannotStart(f"the secrets of the configuration: {error}") from error
    config, environment = with_secrets(spec.config, found), with_secrets(spec.environment, found)
    needs = replace(needs, login=with_secrets(needs.login, found))
    return replace(order, spec=replace(spec, config=config, environment=environment, needs=needs))
