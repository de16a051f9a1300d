"""The roles of the bus: an nkey for each role, and the part of nats-server's configuration with their permissions.

The server gets public keys only. A service may use all subjects of Resolute. An agent may use the subjects
`resolute.agent.<its id>.>` and an inbox of its own: it cannot read facts, send commands, or read what another agent
sends or receives.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resolute.bus import subjects
from resolute.bus.link import Credentials

_SERVICE_SUBJECTS = ["resolute.>", "_INBOX.>", "$JS.>", "$SRV.>"]
_ANSWERS = {"max": 1, "expires": "10m"}
"""A service may answer each request once, in the inbox of the sender. Requests are never sent to agents."""


@dataclass(frozen=True, slots=True)
class Key:
    """One nkey pair of a NATS user."""

    public: str
    seed: str = field(repr=False)


def new_key() -> Key:
    import nkeys  # loads libsodium, which only commands that make keys need

    seed = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return key_of(seed.decode())


def key_of(seed: str) -> Key:
    import nkeys

    return Key(nkeys.from_seed(bytearray(seed.encode())).public_key.decode(), seed)


def service_credentials(seed: str) -> Credentials:
    return Credentials(seed)


def agent_credentials(agent_id: str, seed: str) -> Credentials:
    return Credentials(seed, inbox_prefix=agent_inbox(agent_id))


def agent_inbox(agent_id: str) -> str:
    return f"_INBOX_{subjects.token(agent_id)}"


def service_user(public: str) -> dict[str, Any]:
    allowed = {"allow": _SERVICE_SUBJECTS}
    return {
        "nkey": public,
        "permissions": {"publish": allowed, "subscribe": allowed, "allow_responses": _ANSWERS},
    }


def agent_user(agent_id: str, public: str) -> dict[str, Any]:
    own = subjects.agent(agent_id, ">")
    return {
        "nkey": public,
        "permissions": {
            "publish": {"allow": [own]},
            "subscribe": {"allow": [own, f"{agent_inbox(agent_id)}.>"]},
            # No allow_responses: an agent that sent itself a request could then publish to any reply subject it named.
        },
    }


def authorization(service: str, agents: Mapping[str, str]) -> str:
    """The part of nats-server's configuration that lists the users: the services' public key, and each agent's."""
    users = [service_user(service), *(agent_user(agent_id, public) for agent_id, public in agents.items())]
    return "authorization: " + json.dumps({"users": users}, indent=2) + "\n"
