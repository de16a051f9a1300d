"""The requests of the way in. Their bodies and queries are for the task, and are not read here."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.fields import text
from resolute.api.kernel.messages import InPath, Request


class EnterTask(Request):
    service: InPath[Annotated[str, text(200)]]


class EnterTaskAt(EnterTask):
    path: InPath[Annotated[str, text(16_384)]]
