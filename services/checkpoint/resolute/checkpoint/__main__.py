"""`python -m resolute.checkpoint`."""

from __future__ import annotations

from resolute.checkpoint.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(serve, "checkpoint")
