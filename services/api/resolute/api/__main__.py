"""`python -m resolute.api`."""

from __future__ import annotations

from resolute.api.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(serve, "api")
