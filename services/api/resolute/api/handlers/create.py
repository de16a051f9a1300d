"""Creating experiments: what a person submits is checked, its code is stored, and the searcher is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import orjson

from resolute.api.body_kinds import SUBMISSION
from resolute.api.call import Call
from resolute.api.experiments.presenting import experiment_for
from resolute.api.handlers.admission import admitted
from resolute.api.handlers.placing import defaults_at, place_of
from resolute.api.routing import INHERITS_SECRETS, SIGNED_IN, Owned, Route
from resolute.api.uploads import Packed
from resolute.api.views.shown import for_wire
from resolute.api.wire import timestamp
from resolute.config import (
    MASK,
    ExperimentConfig,
    check_entrypoint,
    check_launcher,
    load_yaml,
    masked,
    missing_file,
    parse_experiment,
    secrets_of,
)
from resolute.config.context import of_model_definition, to_tgz
from resolute.config.without_effect import without_effect
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.experiment import CreateExperiment

PARENT = """SELECT e.model_definition, e.project_id, e.owner_id, f.config
FROM read_experiments.experiments e
JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id WHERE e.id = $1"""

SLOTS = """SELECT count(*) FROM read_pools.slots s JOIN read_pools.agents a USING (agent_id, pool)
WHERE a.alive AND a.pool = $1"""

TOO_WIDE = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"


@dataclass(frozen=True, slots=True)
class Parent:
    experiment_id: int
    model_definition: str | None
    project_id: int
    owner_id: int
    config: str = field(repr=False)


async def create_experiment(call: Call) -> dict[str, Any]:
    """Submit an experiment: its configuration as YAML, its code as files; or only check them."""
    body = call.body
    text = body.get("config")
    if not isinstance(text, str) or not text.strip():
        raise InvalidConfig("config: the experiment's configuration, as YAML text, is missing")
    if body.get("template"):
        raise InvalidConfig(f"template: there is no template named {body['template']!r}")
    if body.get("unmanaged"):
        raise InvalidConfig(
            "unmanaged: expected false; found true. Trials that run outside the cluster cannot be made here yet: such "
            "an experiment would never have one"
        )
    parent = await _parent(call, body.get("parentId"))
    given = await asyncio.to_thread(load_yaml, text)
    place = await place_of(call, given, parent.project_id if parent else None)
    config = await asyncio.to_thread(parse_experiment, given, defaults_at(call, place, given))
    config, fits = await admitted(config, call)
    project = place.project()
    code = await _code(call, config, parent)
    warnings = {
        **await launch_warnings(call, config, fits),
        "configWarnings": [*without_effect(given, call.gateway.settings.task_runtime), *_no_code(config, code, parent)],
    }
    if body.get("validateOnly"):
        return {
            "experiment": (checked := _only_checked(call, config, project, text)),
            "config": checked["config"],
            **warnings,
        }
    before = await secrets_before(call, parent)
    sealed = await call.gateway.vault.sealed(config.merged, text, call.principal.user_id, before)
    command = CreateExperiment(
        name=config.name,
        config=sealed.config,
        original_config=sealed.text,
        owner_id=call.principal.user_id,
        owner=call.principal.username,
        project_id=project["id"],
        seed=config.experiment_seed,
        activate=body.get("activate") is not False,
        model_definition=await _stored(call, code) if code else parent.model_definition if parent else None,
        parent_id=parent.experiment_id if parent else None,
        external_id=config.merged.get("external_experiment_id"),
        agent_user=await place.agent_user(call),
    )
    async with call.gateway.vault.unless_refused(sealed):
        reply = await call.send(command)
    experiment = await experiment_for(call, int(reply.data["experiment_id"]))
    return {"experiment": experiment, "config": experiment.config, **warnings}


async def secrets_before(call: Call, parent: Parent | None) -> dict[str, Any]:
    """By place: the secrets of the experiment that is forked, for its owner alone. Whoever else forks it submits masks
    in their places, and those are refused by name."""
    if parent is None:
        return {}
    named = Owned("experiment", str(parent.experiment_id), owner_id=parent.owner_id)
    if not call.may(INHERITS_SECRETS, named):
        return {}
    opened, _ = await call.gateway.vault.opened(orjson.loads(parent.config))
    return {place: value for place, value in secrets_of(opened) if value != MASK}


async def _parent(call: Call, parent_id: Any) -> Parent | None:
    if not parent_id:
        return None
    row = await call.gateway.read.row(PARENT, int(parent_id))
    if row is None:
        raise NotFound(f"parentId: experiment {parent_id} not found")
    return Parent(int(parent_id), row["model_definition"], row["project_id"], row["owner_id"], row["config"])


async def _code(call: Call, config: ExperimentConfig, parent: Parent | None) -> bytes | Packed | None:
    """The context directory as an archive; None when none was sent, as when a parent's is used."""
    upload = call.read.upload
    if upload is not None:
        code: bytes | Packed | None = upload.packed
        paths = upload.packed.paths if upload.packed else ()
    else:
        code, paths = await asyncio.to_thread(_packed, call.body.get("modelDefinition") or [])
    if code:
        check_entrypoint(config.entrypoint, paths)
    else:
        check_launcher(config.entrypoint)  # the files may be in the image, or in what it mounts
    return code


def _no_code(config: ExperimentConfig, code: bytes | Packed | None, parent: Parent | None) -> list[str]:
    """A warning for a submission without files: what the entrypoint runs has to be where the trial runs."""
    missing = missing_file(config.entrypoint, ()) if code is None and parent is None else None
    return [f"entrypoint: no files were sent; {missing} has to be where the trial runs"] if missing else []


def _packed(files: list[Any]) -> tuple[bytes | None, tuple[str, ...]]:
    contents = of_model_definition(files)
    return (to_tgz(contents) if contents else None), tuple(file.path for file in contents)


async def _stored(call: Call, code: bytes | Packed) -> str:
    blobs = call.gateway.blobs
    return await blobs.put_file(code) if isinstance(code, Packed) else await blobs.put(code)


async def launch_warnings(call: Call, config: ExperimentConfig, fits: bool) -> dict[str, Any]:
    """`fits`: whether the pool could hold a trial when it is idle."""
    slots = await call.gateway.read.value(SLOTS, config.resources.resource_pool)
    return {"warnings": [TOO_WIDE] if config.resources.slots_min > slots or not fits else []}


def _only_checked(call: Call, config: ExperimentConfig, project: Any, text: str) -> dict[str, Any]:
    """The experiment it would be; there is none, and so it has number 0."""
    merged = for_wire(masked(config.merged, variables=False))
    return {
        "id": 0,
        "jobId": "",
        "name": config.name,
        "description": config.description or "",
        "labels": list(config.labels),
        "state": "STATE_UNSPECIFIED",
        "archived": False,
        "startTime": timestamp(call.gateway.context.now()),
        "numTrials": 0,
        "username": call.principal.username,
        "userId": call.principal.user_id,
        "projectId": project["id"],
        "projectName": project["name"],
        "projectOwnerId": 0,
        "workspaceId": project["workspace_id"],
        "workspaceName": project["workspace"],
        "searcherType": merged["searcher"]["name"],
        "searcherMetric": merged["searcher"]["metric"],
        "resourcePool": config.resources.resource_pool,
        "hyperparameters": merged["hyperparameters"],
        "config": merged,
        "originalConfig": text,
    }


ROUTES = (
    Route(
        "CreateExperiment",
        "POST",
        "/api/v1/experiments",
        create_experiment,
        # The project may also be named in the configuration; `placing` looks for it within the scope.
        SIGNED_IN.to("experiment.create")
        .over_scope()
        .about("project", "body.projectId", optional=True)
        .about("experiment", "body.parentId", to="experiment.view", optional=True),
        body=SUBMISSION,
    ),
)
