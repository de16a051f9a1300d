"""The shell of the webhooks: it handles their commands, follows experiments, and runs the deliverer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from uuid import uuid4

from resolute.config.webhooks import WebhookSettings
from resolute.directory import spaces, workspaces
from resolute.directory.webhooks import bodies, deliveries, experiments, matching, registered
from resolute.directory.webhooks.addresses import Allowed
from resolute.directory.webhooks.deliverer import Deliverer
from resolute.directory.webhooks.deliveries import Deliveries
from resolute.directory.webhooks.experiments import ExperimentFacts
from resolute.directory.webhooks.matching import Matched, Place
from resolute.directory.webhooks.sender import HttpSender, Send
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.message import Cause, Command, Event, Object, Recorded, Reply
from resolute.proto.states import FINISHED
from resolute.proto.webhooks import (
    CreateWebhook,
    DeliveryDue,
    MoveWebhook,
    RaiseAlert,
    ReportTaskLogMatch,
    TestWebhook,
    TriggerKind,
    WebhookCreated,
)
from resolute.service import Aggregates, Context, Follower, Reactions
from resolute.service.sealed_urls import signing_key, unseal
from resolute.service.sealing import CannotOpen

CONSUMER = "webhooks"

EXPERIMENTS_KEPT = 100

TEST_S = 5.0
"""How long the request of a test may take: the person who asked for it waits for the answer."""


Handle = Callable[[Command, Cause], Awaitable[Reply]]


class WebhookShell:
    def __init__(self, context: Context, settings: WebhookSettings, otherwise: Handle) -> None:
        """`otherwise` handles the commands that need nothing but a decision, and all that are not about webhooks."""
        self._context, self._log, self._otherwise = context, context.log, otherwise
        self._allowed = Allowed.of(settings.allowed_networks)
        self._base_url = settings.base_url
        self._signing_key = settings.signing_key.get_secret_value() or signing_key(context.secret)
        self._webhooks = Aggregates(context.log, registered.Webhooks, registered.evolve)
        self._places = Aggregates(context.log, spaces.Workspaces, workspaces.evolve)
        self._experiments = Aggregates(context.log, ExperimentFacts, experiments.evolve, keep=EXPERIMENTS_KEPT)
        self._deliveries = Aggregates(context.log, Deliveries, deliveries.evolve)
        self._made_at: dict[int, int] = {}
        """By webhook: the position in the log from which on it counts."""

    async def run(self) -> None:
        """Follow experiments and send what is due, until cancelled."""
        context = self._context
        reactions = Reactions(
            CONSUMER,
            context.log,
            self.react,
            lambda recorded: recorded.stream,
            attempt_lock=context.attempt_lock,
        )
        deliverer = self.deliverer(HttpSender(self._allowed))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(Follower(reactions, context.log, context.bus).run())
            tasks.create_task(Follower(deliverer, context.log, context.bus).run())
            tasks.create_task(deliverer.run())

    def deliverer(self, send: Send) -> Deliverer:
        return Deliverer(
            self._log,
            self._webhooks,
            self._deliveries,
            send,
            now=self._context.now,
            secret=self._context.secret,
            signing_key=self._signing_key,
            base_url=self._base_url,
        )

    # ------------------------------------------------------------ commands

    async def handle(self, command: Command, cause: Cause) -> Reply:
        """Raises InvalidConfig, NotFound and Refused."""
        match command:
            case CreateWebhook(url=url):
                registered.check(command)
                await self._check_address(url)
            case MoveWebhook(url=url):
                await self._check_address(url)
            case TestWebhook(webhook_id=webhook_id):
                return await self._test(webhook_id)
            case RaiseAlert():
                return await self._alert(command, cause)
            case ReportTaskLogMatch():
                return await self._line(command, cause)
        return await self._otherwise(command, cause)

    async def _check_address(self, sealed: str) -> None:
        """A name that is not found yet is no mistake: it is looked up again for each request."""
        try:
            problem = await HttpSender(self._allowed).problem(self._opened(sealed))
        except OSError:
            return
        if problem:
            raise InvalidConfig(f"url: {problem}")

    def _opened(self, sealed: str) -> str:
        try:
            return unseal(self._context.secret, sealed)
        except CannotOpen:
            raise InvalidConfig("url: was sealed under another secret of the cluster; set it again") from None

    async def _test(self, webhook_id: int) -> Reply:
        webhook = registered.known(await self._webhooks.state(streams.WEBHOOK_DIRECTORY), webhook_id)
        now = self._context.now()
        sent = bodies.body_of_test(str(uuid4()), webhook.form, now)
        headers = bodies.signature(self._signing_key, int(now.timestamp()), sent)
        answer = await HttpSender(self._allowed, TEST_S)(self._opened(webhook.url), sent, headers)
        if not answer.succeeded:
            raise InvalidConfig(f"the receiver of webhook {webhook_id} did not take the test: {answer.why}")
        return Reply()

    async def _alert(self, alert: RaiseAlert, cause: Cause) -> Reply:
        facts = await self._facts(alert.experiment_id)
        if alert.trial_id is not None and alert.trial_id not in facts.trials:
            raise NotFound(f"trial {alert.trial_id} of experiment {alert.experiment_id} not found")
        place = await self._place(facts)
        told = {
            "experiment": matching.about_experiment(facts, place, facts.state, trial_id=alert.trial_id),
            "custom_data": {"title": alert.title, "description": alert.description, "level": alert.level},
        }
        webhooks = await self._webhooks.state(streams.WEBHOOK_DIRECTORY)
        matched = self._asked_for(matching.on_alert(webhooks.by_id.values()), facts, place)
        return Reply(await self._due(matched, cause, self._context.now(), told, place.ids))

    async def _line(self, report: ReportTaskLogMatch, cause: Cause) -> Reply:
        """The cause is the same for every report about one task and one trigger: the log takes the first."""
        webhooks = await self._webhooks.state(streams.WEBHOOK_DIRECTORY)
        webhook = registered.known(webhooks, report.webhook_id)
        facts = await self._facts(report.experiment_id)
        place = await self._place(facts)
        found = [
            Matched(webhook, one)
            for one in webhook.triggers
            if one.trigger_id == report.trigger_id and one.trigger.kind == TriggerKind.TASK_LOG
        ]
        told = {"task_log": matching.about_line(report.task_id, report.agent_id, report.line)}
        places = {**place.ids, "experiment_id": report.experiment_id, "trial_id": report.trial_id}
        once = Cause(f"task-log-{report.task_id}", cause.actor, cause.correlation_id or cause.id, cause.traceparent)
        return Reply(await self._due(self._asked_for(found, facts, place), once, self._context.now(), told, places))

    # ------------------------------------------------------------ reactions

    async def react(self, recorded: Recorded) -> None:
        """An experiment that comes to a state: what webhooks are sent because of that is due from now on."""
        if recorded.category != streams.EXPERIMENT.name:
            return
        if (state := experiments.state_after(recorded.event)) is None:
            return
        webhooks = await self._webhooks.state(streams.WEBHOOK_DIRECTORY)
        matched = [
            one
            for one in matching.on_state(webhooks.by_id.values(), state)
            if await self._made(one.webhook.webhook_id) < recorded.position
        ]
        if matched:
            await self._came_to(recorded, state, matched)

    async def _came_to(self, recorded: Recorded, state: str, matched: Sequence[Matched]) -> None:
        facts = await self._facts(int(recorded.key))
        if facts.unmanaged:
            return
        place = await self._place(facts)
        duration_s = await self._duration_s(recorded) if state in FINISHED else 0
        told = {"experiment": matching.about_experiment(facts, place, state, duration_s)}
        cause = Cause(recorded.id, recorded.cause.actor, recorded.cause.correlation_id or recorded.cause.id)
        await self._due(self._asked_for(matched, facts, place), cause, recorded.recorded_at, told, place.ids)

    async def _made(self, webhook_id: int) -> int:
        if webhook_id not in self._made_at:
            for one in await self._log.read_stream(streams.WEBHOOK_DIRECTORY):
                if isinstance(one.event, WebhookCreated):
                    self._made_at[one.event.webhook_id] = one.position
        return self._made_at[webhook_id]

    async def _duration_s(self, recorded: Recorded) -> int:
        first = await self._log.read_stream(recorded.stream, limit=1)
        return int((recorded.recorded_at - first[0].recorded_at).total_seconds())

    # ------------------------------------------------------------ what both need

    async def _facts(self, experiment_id: int) -> ExperimentFacts:
        """Raises NotFound."""
        facts = await self._experiments.state(streams.EXPERIMENT.stream(experiment_id))
        if not facts.experiment_id:
            raise NotFound(f"experiment {experiment_id} not found")
        return facts

    async def _place(self, facts: ExperimentFacts) -> Place:
        known = await self._places.state(streams.WORKSPACE_DIRECTORY)
        project = known.projects.get(facts.project_id)
        if project is None:  # it was deleted
            return Place(None, "", facts.project_id, "")
        workspace = known.workspace(project.workspace_id)
        return Place(project.workspace_id, workspace.name, facts.project_id, project.name)

    def _asked_for(self, found: Sequence[Matched], facts: ExperimentFacts, place: Place) -> list[Matched]:
        wanted, workspace_id = facts.integrations, place.workspace_id
        return [one for one in found if matching.asked_for(one.webhook, wanted, workspace_id)]

    async def _due(self, found: Sequence[Matched], cause: Cause, at: datetime, told: Object, places: Object) -> int:
        """The position after which all of them are due. Done again with the same cause, it does nothing."""
        position = 0
        for one in found:
            step = cause.then(f"trigger-{one.trigger.trigger_id}")
            event: DeliveryDue = matching.due(one, cause.id, at, told, places)
            stream = streams.DELIVERIES.stream(one.webhook.webhook_id)
            outcome = await self._deliveries.execute(stream, partial(_as_decided, event), step)
            position = max(position, outcome.position)
        return position


def _as_decided(due: DeliveryDue, before: Deliveries) -> list[Event]:
    return [due]
