"""`python -m resolute.relay`."""

from __future__ import annotations

from resolute.relay.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(serve, "relay")
