"""How much live updates may cost."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class StreamLimits(BaseModel):
    """`RESOLUTE_API_STREAMS__PER_USER=200`, or `streams: {per_user: 200}` in the `api` section of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max: int = Field(default=4_096, ge=1)
    """Listeners of one gateway."""
    per_user: int = Field(default=128, ge=1)
    """Listeners of one user at one gateway."""
    message_bytes: int = Field(default=2**20, ge=1_024)
    """The size of a client's message."""
    values: int = Field(default=1_000, ge=1)
    """Values in one list of a subscription."""
    objects: int = Field(default=20_000, ge=1)
    """Objects that match one subscription, and ids that a client may say it knows of one kind."""
    waiting: int = Field(default=20_000, ge=1)
    """Changes of objects that may wait for one slow listener."""
    subscribe_within_s: float = Field(default=60.0, gt=0)
    """For the first message of a client."""
    probe_after_s: int = Field(default=30, ge=1, le=7_200)
    """A connection over which nothing came for so long is probed by TCP, and ends where the client's host is gone."""
    check_every_s: float = Field(default=30.0, gt=0)
    """How often the gateway looks whether a listener is still signed in, with the same rights. It also looks as soon as
    events say that they may be others."""
    close_within_s: float = Field(default=2.0, gt=0)
    """For a client to take the reason why it is closed."""
