"""Runs a search method in this process: gets events from the cluster, and posts the operations that the method returns.

The operations for an event are written to disk before they are posted. When the process dies in between, the next run
posts them again. The cluster identifies them by the number of the event, so posting them twice has no further effect.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any

from determined.common.api import Session, errors
from determined.searcher._code import model_definition
from determined.searcher._journal import Journal
from determined.searcher._method import ExitedReason, Operation, SearcherState, SearchMethod
from determined.searcher._operation_queue import OperationQueue, Wire

logger = logging.getLogger("determined.searcher")

POLL_S = 60


class LocalSearchRunner:
    """Runs one search. `searcher_dir` has its journal: a runner with the same folder continues the same search.

    Without a `session`, the address and the user are taken from DET_MASTER, DET_USER and DET_PASS.
    """

    def __init__(
        self,
        search_method: SearchMethod,
        searcher_dir: str | os.PathLike[str] | None = None,
        session: Session | None = None,
    ) -> None:
        self.search_method = search_method
        self.state = SearcherState()
        self._journal = Journal(pathlib.Path(searcher_dir or "searcher"))
        self._session = session
        self._operations = OperationQueue()

    def run(
        self,
        exp_config: Mapping[str, Any] | str | os.PathLike[str],
        model_dir: str | os.PathLike[str] | None = None,
    ) -> int:
        """Submit the experiment, or continue it, and return its number when it has ended.

        `exp_config` is a configuration, or the path of a file with one. All files of `model_dir` are submitted with it.
        """
        session = self._session or login()
        experiment_id = self._submitted(session, exp_config, model_dir)
        path = f"/api/v1/experiments/{experiment_id}"
        self._resume(session, path)
        while not self.state.experiment_completed:
            query = {"after": self.state.last_event_id, "timeoutSeconds": POLL_S}
            answer = session.get(f"{path}/searcher_events", query, timeout_s=POLL_S + 30)
            for event in answer["searcherEvents"]:
                self._answer(session, path, event)
        return experiment_id

    def _submitted(self, session: Session, config: Any, model_dir: str | os.PathLike[str] | None) -> int:
        submission = self._journal.submission()
        if submission["experiment_id"] is not None:
            return int(submission["experiment_id"])
        text = json.dumps(config) if isinstance(config, Mapping) else pathlib.Path(config).read_text()
        files = model_definition(pathlib.Path(model_dir)) if model_dir is not None else []
        body = {"config": text, "modelDefinition": files, "activate": True}
        answer = session.post("/api/v1/experiments", body, headers={"Idempotency-Key": submission["key"]})
        experiment_id = int(answer["experiment"]["id"])
        self._journal.began(experiment_id)
        logger.info("submitted experiment %s", experiment_id)
        return experiment_id

    # ---------------------------------------------------------------- one event

    def _answer(self, session: Session, path: str, event: Mapping[str, Any]) -> None:
        released = self._note_event(event)
        operations = self._operations_after(event)
        posted = [*released, *self._operations.send(operations, self.search_method.progress(self.state))]
        self.state.last_event_id = int(event["id"])
        inactive = "experimentInactive" in event
        step = {"state": _dumped(self.state), "desk": self._operations.dump(), "posted": [] if inactive else posted}
        self._journal.write(self.state.last_event_id, step, self.search_method.save_method_state)
        if not inactive:
            self._post(session, path, posted)

    def _note_event(self, event: Mapping[str, Any]) -> list[Wire]:
        """Updates `state` by the event. Returns the operations that waited for it."""
        state, operations = self.state, self._operations
        match event:
            case {"trialCreated": {"requestId": name}}:
                state.trials_created.add(uuid.UUID(name))
                return operations.created(uuid.UUID(name))
            case {"validationCompleted": {"requestId": name}}:
                return operations.reached(uuid.UUID(name))
            case {"trialClosed": {"requestId": name}}:
                state.trials_closed.add(uuid.UUID(name))
                operations.ended(uuid.UUID(name))
            case {"trialExitedEarly": {"requestId": name}}:
                state.trials_closed.add(uuid.UUID(name))
                state.failures.add(uuid.UUID(name))
                operations.ended(uuid.UUID(name))
            case {"experimentInactive": {"experimentState": ended}} if ended != "STATE_PAUSED":
                state.experiment_completed = True
                state.experiment_failed = ended == "STATE_ERROR"
        return []

    def _operations_after(self, event: Mapping[str, Any]) -> list[Operation]:
        """The operations that the search method returns for the event."""
        method, state = self.search_method, self.state
        match event:
            case {"initialOperations": _}:
                return method.initial_operations(state)
            case {"trialCreated": {"requestId": name}}:
                return method.on_trial_created(state, uuid.UUID(name))
            case {"validationCompleted": {"requestId": name, "metric": metric, "validateAfterLength": length}}:
                value = float("nan") if metric is None else float(metric)
                return method.on_validation_completed(state, uuid.UUID(name), value, int(length))
            case {"trialClosed": {"requestId": name}}:
                return method.on_trial_closed(state, uuid.UUID(name))
            case {"trialExitedEarly": {"requestId": name, "exitedReason": reason}}:
                return method.on_trial_exited_early(state, uuid.UUID(name), ExitedReason(reason))
        return []

    def _post(self, session: Session, path: str, posted: list[Wire]) -> None:
        body = {"searcherOperations": posted, "triggeredByEvent": {"id": self.state.last_event_id}}
        try:
            session.post(f"{path}/searcher_operations", body)
        except errors.APIException as problem:
            if problem.status_code != 409 or not _is_over(session, path):
                raise
            logger.info("the experiment is over: %s", problem.message)

    # ---------------------------------------------------------------- going on

    def _resume(self, session: Session, path: str) -> None:
        found = self._journal.latest()
        if found is None:
            return
        step, method = found
        self.state = _loaded(step["state"])
        self._operations.load(step["desk"])
        self.search_method.load_method_state(method)
        logger.info("going on after event %s", self.state.last_event_id)
        if step["posted"]:
            self._post(session, path, step["posted"])


def login() -> Session:
    """A session at DET_MASTER (default http://localhost:8080), as DET_USER (default determined) with DET_PASS."""
    master = os.environ.get("DET_MASTER", "http://localhost:8080")
    user, password = os.environ.get("DET_USER", "determined"), os.environ.get("DET_PASS", "")
    body = {"username": user, "password": password, "isHashed": False}
    return Session(master, Session(master, None).post("/api/v1/auth/login", body)["token"])


def _is_over(session: Session, path: str) -> bool:
    state = str(session.get(path)["experiment"]["state"])
    return state.startswith("STATE_STOPPING") or state in ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR")


def _dumped(state: SearcherState) -> dict[str, Any]:
    def names(known: set[uuid.UUID]) -> list[str]:
        return sorted(map(str, known))

    return {
        "trials_created": names(state.trials_created),
        "trials_closed": names(state.trials_closed),
        "failures": names(state.failures),
        "last_event_id": state.last_event_id,
        "experiment_completed": state.experiment_completed,
        "experiment_failed": state.experiment_failed,
    }


def _loaded(dumped: Mapping[str, Any]) -> SearcherState:
    sets = ("trials_created", "trials_closed", "failures")
    return SearcherState(**{**dumped, **{name: {uuid.UUID(each) for each in dumped[name]} for name in sets}})
