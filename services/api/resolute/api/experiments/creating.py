"""Creating experiments: what a person submits is checked, its code is stored, and the searcher is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import orjson

from resolute.api import wire
from resolute.api.body_kinds import SUBMISSION
from resolute.api.call import Call
from resolute.api.experiments.admission import admitted
from resolute.api.experiments.configurations import for_wire
from resolute.api.experiments.files import archive_of
from resolute.api.experiments.messages import Experiment, ExperimentState
from resolute.api.experiments.placing import Place, defaults_at, place_of, submissions_of
from resolute.api.experiments.presenting import experiment_for
from resolute.api.experiments.submission_messages import (
    CreatedExperimentAnswer,
    CreateExperiment,
    File,
    LaunchWarning,
    PutExperiment,
    PutExperimentAnswer,
    Submission,
)
from resolute.api.experiments.submission_queries import ProjectRow, SubmittedRow
from resolute.api.kernel.operations import operation
from resolute.api.policies.holding import policies_in
from resolute.api.routing import INHERITS_SECRETS, SIGNED_IN, Owned
from resolute.api.templates.using import template_named
from resolute.api.uploads import Packed
from resolute.api.vault import Sealed
from resolute.config import (
    MASK,
    ExperimentConfig,
    Stated,
    check_entrypoint,
    check_launcher,
    load_yaml,
    masked,
    missing_file,
    parse_experiment,
    secrets_of,
)
from resolute.config.without_effect import without_effect
from resolute.proto import experiment as commands
from resolute.proto.errors import InvalidConfig, NotFound, refuse


@dataclass(frozen=True, slots=True)
class Checked:
    """A submission that may be accepted."""

    config: ExperimentConfig
    place: Place
    project: ProjectRow
    parent: SubmittedRow | None
    code: bytes | Packed | None = field(repr=False)
    """The context directory as an archive; None when none was sent, as when a parent's is used."""
    warnings: tuple[LaunchWarning, ...]
    config_warnings: tuple[str, ...]


async def create_experiment(call: Call, request: CreateExperiment) -> CreatedExperimentAnswer:
    """Submit an experiment: its configuration as YAML, its code as files; or only check them."""
    return await _submitted(call, request.body)


async def put_experiment(call: Call, request: PutExperiment) -> PutExperimentAnswer:
    """Submit an unmanaged experiment under an external id, or answer the experiment that has this id already."""
    if not request.body.unmanaged:
        raise InvalidConfig("unmanaged: expected true; found false. The cluster numbers the experiments that it runs")
    answer = await _submitted(call, request.body, request.external_experiment_id)
    return PutExperimentAnswer(config=answer.config, experiment=answer.experiment)


async def _submitted(call: Call, submission: Submission, external_id: str | None = None) -> CreatedExperimentAnswer:
    checked = await _checked(call, submission)
    if submission.validate_only:
        experiment = _only_checked(call, checked, submission.config)
    else:
        experiment = await experiment_for(call, await _created(call, submission, checked, external_id))
    return CreatedExperimentAnswer(
        config=experiment.config,
        experiment=experiment,
        config_warnings=checked.config_warnings,
        warnings=checked.warnings,
    )


# ---------------------------------------------------------------- checking


async def _checked(call: Call, submission: Submission) -> Checked:
    _check_supported(submission)
    parent = await _parent(call, submission.parent_id)
    given = await asyncio.to_thread(load_yaml, submission.config)
    template = await template_named(call, submission.template)
    stated = Stated(given, template)
    place = await place_of(call, submission.project_id, stated, parent.project_id if parent else None)
    policies = await policies_in(call, place.workspace_id)
    defaults = replace(
        defaults_at(call, place, Stated(*reversed(policies.invariants), given, template)),
        template=template,
        invariants=policies.invariants,
    )
    managed = not submission.unmanaged
    config = await asyncio.to_thread(partial(parse_experiment, given, defaults, managed=managed))
    config, fits = await admitted(config, call, place.workspace_id)
    policies.check(config.merged["resources"])
    project = place.project()
    code = await _code(call, config, submission.model_definition)
    warnings = await launch_warnings(call, config, fits=fits) if managed else ()
    without = (without_effect(layer, call.gateway.settings.task_runtime) for layer in (given, template))
    no_code = _no_code(config, code, parent) if managed else ()
    told = (*dict.fromkeys(chain.from_iterable(without)), *no_code)
    return Checked(config, place, project, parent, code, warnings, told)


def _check_supported(submission: Submission) -> None:
    if not submission.config.strip():
        raise InvalidConfig("config: the experiment's configuration, as YAML text, is missing")


async def _parent(call: Call, parent_id: int) -> SubmittedRow | None:
    if not parent_id:
        return None
    row = await submissions_of(call).submitted(parent_id)
    if row is None:
        raise NotFound(f"parentId: experiment {parent_id} not found")
    return row


async def _code(call: Call, config: ExperimentConfig, files: Sequence[File]) -> bytes | Packed | None:
    """The context directory, once it is known to have what the entrypoint runs."""
    upload = call.read.upload
    if upload is not None:
        code: bytes | Packed | None = upload.packed
        paths = upload.packed.paths if upload.packed else ()
    else:
        code, paths = await asyncio.to_thread(archive_of, files)
    if code:
        check_entrypoint(config.entrypoint, paths)
    else:
        check_launcher(config.entrypoint)  # the files may be in the image, or in what it mounts
    return code


def _no_code(config: ExperimentConfig, code: bytes | Packed | None, parent: SubmittedRow | None) -> list[str]:
    """A warning for a submission without files: what the entrypoint runs has to be where the trial runs."""
    missing = missing_file(config.entrypoint, ()) if code is None and parent is None else None
    return [f"entrypoint: no files were sent; {missing} has to be where the trial runs"] if missing else []


async def launch_warnings(call: Call, config: ExperimentConfig, *, fits: bool) -> tuple[LaunchWarning, ...]:
    """`fits`: whether the pool could hold a trial when it is idle."""
    slots = await submissions_of(call).slots(config.resources.resource_pool)
    too_wide = config.resources.slots_min > slots or not fits
    return (LaunchWarning.CURRENT_SLOTS_EXCEEDED,) if too_wide else ()


# ---------------------------------------------------------------- creating


async def _created(call: Call, submission: Submission, checked: Checked, external_id: str | None) -> int:
    """The number of the new experiment."""
    vault, before = call.gateway.vault, await _secrets_before(call, checked.parent)
    sealed = await vault.sealed(checked.config.merged, submission.config, call.principal.user_id, before)
    command = replace(await _command(call, checked, sealed, submission), external_id=external_id)
    async with vault.unless_refused(sealed):
        reply = await call.send(command)
    experiment_id = int(reply.data["experiment_id"])
    if external_id is not None:
        await _check_seen(call, experiment_id, external_id)
    return experiment_id


async def _check_seen(call: Call, experiment_id: int, external_id: str) -> None:
    """Raises Refused where an experiment has this id that the caller may not see."""
    try:
        await call.check_visible("experiment", str(experiment_id))
    except NotFound:
        what = f"submit an experiment as {external_id!r}"
        raise refuse(what, "this external id is taken", "choose another one") from None


async def _command(call: Call, checked: Checked, sealed: Sealed, submission: Submission) -> commands.CreateExperiment:
    config, parent = checked.config, checked.parent
    inherited = parent.model_definition if parent else None
    return commands.CreateExperiment(
        name=config.name,
        config=sealed.config,
        original_config=sealed.text,
        owner_id=call.principal.user_id,
        owner=call.principal.username,
        project_id=checked.project.id,
        seed=config.experiment_seed,
        activate=submission.activate and not submission.unmanaged,
        unmanaged=submission.unmanaged,
        model_definition=await _stored(call, checked.code) if checked.code else inherited,
        parent_id=parent.id if parent else None,
        agent_user=await checked.place.agent_user(call),
    )


async def _stored(call: Call, code: bytes | Packed) -> str:
    blobs = call.gateway.blobs
    return await blobs.put_file(code) if isinstance(code, Packed) else await blobs.put(code)


async def _secrets_before(call: Call, parent: SubmittedRow | None) -> dict[str, Any]:
    """By place: the secrets of the experiment that is forked, for its owner alone. Others who fork it submit masks in
    their places, and those are refused by name."""
    if parent is None:
        return {}
    named = Owned("experiment", str(parent.id), owner_id=parent.owner_id)
    if not call.may(INHERITS_SECRETS, named):
        return {}
    opened, _ = await call.gateway.vault.opened(orjson.loads(parent.config))
    return {place: value for place, value in secrets_of(opened) if value != MASK}


def _only_checked(call: Call, checked: Checked, text: str) -> Experiment:
    """The experiment that the submission would become. There is none, and so it has number 0."""
    config, project = checked.config, checked.project
    merged = for_wire(masked(config.merged, variables=False))
    return Experiment(
        id=0,
        job_id="",
        name=config.name,
        description=config.description or "",
        labels=tuple(config.labels),
        state=ExperimentState.UNSPECIFIED,
        archived=False,
        start_time=call.gateway.context.now(),
        num_trials=0,
        username=call.principal.username,
        user_id=call.principal.user_id,
        project_id=project.id,
        project_name=project.name,
        project_owner_id=0,
        workspace_id=project.workspace_id,
        workspace_name=project.workspace,
        searcher_type=merged["searcher"]["name"],
        searcher_metric=merged["searcher"]["metric"],
        resource_pool=config.resources.resource_pool,
        hyperparameters=_document(merged["hyperparameters"]),
        config=_document(merged),
        original_config=text,
    )


def _document(value: Any) -> orjson.Fragment:
    return orjson.Fragment(wire.dumps(value))


# The project may also be named in the configuration; `placing` looks for it within the scope.
SUBMITS = (
    SIGNED_IN.to("experiment.create")
    .over_scope()
    .about("project", "body.projectId", optional=True)
    .about("experiment", "body.parentId", to="experiment.view", optional=True)
    .about("template", "body.template", to="template.view", optional=True)
)

CREATION = operation(
    "CreateExperiment",
    "POST",
    "/api/v1/experiments",
    create_experiment,
    SUBMITS,
    request=CreateExperiment,
    response=CreatedExperimentAnswer,
    tag="Internal",
    body=SUBMISSION,
)

PUTTING = operation(
    "PutExperiment",
    "PUT",
    "/api/v1/experiments/by-external-id/{externalExperimentId}",
    put_experiment,
    SUBMITS,
    request=PutExperiment,
    response=PutExperimentAnswer,
    tag="Internal",
    body=SUBMISSION,
)
