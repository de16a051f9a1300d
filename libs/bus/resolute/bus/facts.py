"""The JetStream stream of facts. Its size is limited, it is created when it is missing, and every fact in it is in the
log as well."""

from __future__ import annotations

from nats.aio.client import Client
from nats.js.api import RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import BadRequestError

from resolute.bus import envelope

STREAM = "RESOLUTE_EVENTS"
SUBJECTS = "resolute.evt.>"
TIMEOUT_S = 2.0

CONFIG = StreamConfig(
    name=STREAM,
    description="What happened, repeated from the log. Wiping it loses nothing.",
    subjects=[SUBJECTS],
    retention=RetentionPolicy.LIMITS,
    storage=StorageType.FILE,
    max_age=24 * 3600,
    max_bytes=256 * 1024 * 1024,
    duplicate_window=120,
    allow_direct=True,
)


async def ensure(client: Client) -> None:
    """Creates the stream, or gives an existing one the settings of this release."""
    jetstream = client.jetstream(timeout=TIMEOUT_S)
    try:
        await jetstream.add_stream(CONFIG)
    except BadRequestError:  # there already, as another release made it
        await jetstream.update_stream(CONFIG)


async def last_position(client: Client) -> int:
    """The log position of the stream's last message; 0 when it is empty."""
    jetstream = client.jetstream(timeout=TIMEOUT_S)
    state = (await jetstream.stream_info(STREAM)).state
    if not state.messages:
        return 0
    message = await jetstream.get_msg(STREAM, state.last_seq)
    return envelope.position(message.headers or {})
