"""The requests of an agent: reports, log lines and secrets, each repeated until it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import structlog

from resolute.bus import Bus, subjects
from resolute.proto.errors import Failed, ResoluteError, SetAside, TooLarge, Unavailable
from resolute.proto.message import Reply
from resolute.proto.pool import LogBatch, LogsStored, OpenSecrets, SecretsOpened, TaskReport
from resolute.service import Patience
from resolute.service.sealing import Box

log_ = structlog.get_logger()

ANSWER_S = 5.0
FAILURES_MAX = 5
"""After this many failures of the gateway with the same lines, the lines are taken for the cause."""


class Stored(Enum):
    """What became of a batch of log lines."""

    YES = "the lines are stored"
    TOO_LARGE = "a smaller batch may be stored"
    REFUSED = "at least one of the lines will never be stored"


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one agent. Each method returns when it has an answer, and waits out outages without a limit."""

    bus: Bus
    agent_id: str

    async def report(self, report: TaskReport) -> None:
        """Returns when the report is in the log, or when the scheduler refused it and so does not need it.

        Raises SetAside when processes of the scheduler died of the report. A later process may accept it.
        """
        patience = Patience()
        while True:
            try:
                await self.bus.ask(subjects.agent(self.agent_id, "report"), report, Reply, ANSWER_S)
                return
            except (Unavailable, Failed) as error:
                await patience.wait(f"report of {report.resources_id}", error)
            except SetAside:
                raise
            except ResoluteError as error:
                log_.warning("report refused", what=report.what, resources_id=report.resources_id, why=error.message)
                return

    async def secrets(self, token: str, may_go_on: Callable[[], None]) -> dict[str, Any]:
        """The secrets in the task's configuration, by sealed value. Asks until a gateway answers, or `may_go_on`
        raises. Raises the gateway's refusal."""
        patience = Patience()
        while True:
            may_go_on()
            box = Box()
            question = OpenSecrets(token, box.public)
            try:
                answer = await self.bus.ask(subjects.agent(self.agent_id, "secrets"), question, SecretsOpened, ANSWER_S)
            except (Unavailable, Failed) as error:
                await patience.wait("the secrets of a task", error)
                continue
            opened: dict[str, Any] = box.opened(answer.sender, answer.box, token)
            return opened

    async def store(self, batch: LogBatch) -> Stored:
        """Sends the lines until they are stored, or the gateway refuses them."""
        patience = Patience()
        failures = 0
        while True:
            try:
                await self.bus.ask(subjects.agent(self.agent_id, "logs"), batch, LogsStored, ANSWER_S)
                return Stored.YES
            except Unavailable as error:
                await patience.wait("log lines", error)
            except TooLarge as error:
                log_.info("log lines are sent in smaller parts", lines=len(batch.lines), why=error.message)
                return Stored.TOO_LARGE
            except ResoluteError as error:
                failures += isinstance(error, Failed)
                if 0 < failures < FAILURES_MAX:
                    await patience.wait("log lines", error)
                    continue
                log_.error("log lines refused", lines=len(batch.lines), why=error.message)
                return Stored.REFUSED
