"""Settings and limits of the way in to tasks."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from resolute.service.addresses import is_loopback


class ProxySettings(BaseModel):
    """`RESOLUTE_API_PROXY__HOST=10.0.0.5`, or `proxy: {host: 10.0.0.5}` in the `api` section of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    """Where this gateway listens for agents. The default serves agents of this machine only. On another address the
    listener speaks TLS with the gateway's certificate, so that `tls_cert` is needed."""
    port: int = Field(default=0, ge=0, le=65_535)
    """0 for any free port: agents are told the number with each request."""
    address: str = Field(default="", max_length=253)
    """The name or address by which agents reach the listener, where it is not `host`: needed for 0.0.0.0."""
    dial_s: float = Field(default=10, gt=0, le=300)
    """How long an agent may take to connect a task with this gateway."""
    dials_max: int = Field(default=1_024, ge=1)
    """Connections that this gateway waits for at once."""
    connections_per_task: int = Field(default=2_048, ge=1)
    """Open connections to one port of a task; further requests wait for one of them to be free."""
    idle_s: float = Field(default=60, gt=0)
    """How long a connection to a task is kept for the next request."""
    shells_need_session: bool = False
    """Clients of Determined open shells without signing in: sshd asks for the key of the shell, which its owner alone
    is told. With `true`, only who is signed in and may see the shell gets as far as sshd; `det` of Resolute is."""
    head_bytes: int = Field(default=65_536, ge=1_024)
    """The longest head of a task's answer, and the longest line in it."""

    @property
    def for_this_machine_only(self) -> bool:
        return is_loopback(self.host)

    @property
    def reached_at(self) -> str:
        return self.address or self.host
