"""Creating experiments: the configuration, the files that travel with it, and following what begins."""

from __future__ import annotations

import sys
import time
import uuid
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from resolute.cli import logs, output, overrides, times
from resolute.cli.commands import publishing, trial
from resolute.cli.commands.experiment import fetch, path, wait_for
from resolute.cli.commands.publishing import Published
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.retrying import retry_while_unreachable
from resolute.cli.session import Session
from resolute.cli.terminal import Progress
from resolute.proto.states import End, is_finished

_LOOK_EVERY_S = 0.25
_END_S = 10.0
"""How long an experiment may take to end after its only trial."""
_CHECKED_FIRST_BYTES = 256 * 1024
"""Files of more than this are sent only once the master has found the configuration right."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission: the configuration as YAML text and as an object, and the files."""

    text: str
    config: dict[str, Any]
    files: list[dict[str, Any]]

    @property
    def content_bytes(self) -> int:
        """As they travel, in base64."""
        return sum(len(file.get("content") or "") for file in self.files)

    def without_contents(self) -> Submission:
        """The same with empty files: enough to check the configuration, and that the entrypoint's file is there."""
        return replace(self, files=[{**file, "content": ""} for file in self.files])


def create(args: Namespace) -> int | None:
    text, config = read_config(args.config_file, args.config)
    published = publishing.parsed(args.publish, args.follow_first_trial)
    if published and (added := publishing.with_ports(config, published)) is not config:
        config, text = added, publishing.as_text(added)
    if args.local:
        return _locally(args, config)
    opened = session(args)
    submission = Submission(text, config, gather(args.model_def, args.include))
    if args.test_mode:
        return _try_out(opened, submission, args)
    if submission.content_bytes > _CHECKED_FIRST_BYTES:
        _submit(opened, submission.without_contents(), args, activate=False, validate_only=True, quiet=True)
    experiment_id = _submit(opened, submission, args, activate=not args.paused)
    print(f"Created experiment {experiment_id}")
    return _follow(opened, experiment_id, published) if args.follow_first_trial else None


def continue_(args: Namespace) -> int | None:
    """Continues an experiment that has ended, with changes to its configuration."""
    import yaml

    changes = read_config(args.config_file, args.config)[1] if args.config_file else overrides.apply({}, args.config)
    opened = session(args)
    body = {"id": args.experiment_id, "overrideConfig": yaml.safe_dump(changes, sort_keys=False)}
    answer = opened.post("/api/v1/experiments/continue", body)
    _warn(answer)
    print(f"Continued experiment {args.experiment_id}")
    return _follow(opened, args.experiment_id) if args.follow_first_trial else None


def read_config(file: Path, changes: list[str]) -> tuple[str, dict[str, Any]]:
    """The configuration as text and as an object. Without overrides, the text is sent as it was written."""
    import yaml

    from resolute.config.document import load_yaml
    from resolute.proto.errors import InvalidConfig

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"cannot read {file}: {error}") from error
    try:
        config = load_yaml(text)
    except InvalidConfig as error:
        raise CliError(f"{'standard input' if str(file) == '-' else file}: {error}") from error
    if not changes:
        return text, config
    changed = overrides.apply(config, changes)
    return yaml.safe_dump(changed, sort_keys=False), changed


def _locally(args: Namespace, config: Mapping[str, Any]) -> int:
    if not args.test_mode:
        raise CliError("--local runs a test here; say --local --test-mode")
    from resolute.cli import local_test

    return local_test.run(config, args.model_def or Path("."))


def gather(model_def: Path | None, include: list[Path], *, quiet: bool = False) -> list[dict[str, Any]]:
    if model_def is None and not include:
        return []
    from determined.common import context

    with Progress("Reading files"):
        found = context.gather(model_def, include)
    if not quiet:
        print(f"Preparing files to send to master... {times.size(context.size_bytes(found))} and {len(found)} files")
    return context.to_model_definition(found)


def _submit(
    opened: Session,
    submission: Submission,
    args: Namespace,
    *,
    activate: bool,
    validate_only: bool = False,
    quiet: bool = False,
) -> int:
    """The experiment's number; 0 where it is only validated. `quiet`: without the master's warnings."""
    body = {
        "activate": activate,
        "config": submission.text,
        "modelDefinition": submission.files,
        "projectId": args.project_id,
        "template": args.template,
        "validateOnly": validate_only or None,
    }
    with Progress("Sending to master"):
        answer = opened.post("/api/v1/experiments", {key: each for key, each in body.items() if each is not None})
    if not quiet:
        _warn(answer)
    return int((answer.get("experiment") or {}).get("id") or 0)


def _warn(answer: Mapping[str, Any]) -> None:
    for warning in answer.get("warnings") or []:
        print(f"Warning: {_WARNINGS.get(warning, warning)}", file=sys.stderr)
    for line in answer.get("configWarnings") or []:
        print(f"Warning: {line}", file=sys.stderr)


_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the cluster has now; "
    "the experiment waits until there are enough"
}


def _follow(opened: Session, experiment_id: int, published: Sequence[Published] = ()) -> int | None:
    """Print the first trial's log as it grows. Interrupting ends the printing, never the experiment."""
    try:
        print("Waiting for first trial to begin...")
        first = _first_trial(opened, experiment_id)
        print(f"Following first trial with ID {first}")
        if published:
            task_id = retry_while_unreachable(lambda: opened.get(f"/api/v1/trials/{first}"))["trial"]["taskId"]
            publishing.publish(opened, task_id, published)
        query: dict[str, Any] = {}
        logs.show(logs.lines(opened, f"/api/v1/trials/{first}/logs", query, follow=True), as_json=False)
    except KeyboardInterrupt:
        print(
            f"\nStopped following; experiment {experiment_id} goes on. "
            f"Follow again: det experiment logs -f {experiment_id}; stop it: det experiment kill {experiment_id}",
            file=sys.stderr,
        )
        return 3
    trial.say_ended(first)
    return _status_after(opened, experiment_id)


def _status_after(opened: Session, experiment_id: int) -> int | None:
    """The exit code: 1 where the experiment failed with its first trial. This does not wait for the rest of a
    search."""
    deadline = time.monotonic() + _END_S
    while True:
        experiment = retry_while_unreachable(lambda: fetch(opened, experiment_id))
        state = output.state(experiment["state"])
        if state == End.ERROR:
            why = f": {experiment['stateReason']}" if experiment.get("stateReason") else ""
            print(f"Experiment {experiment_id} ended in state {state}{why}", file=sys.stderr)
            return 1
        only_one = (experiment.get("numTrials") or 0) <= 1
        if is_finished(state) or not only_one or time.monotonic() > deadline:
            return None
        time.sleep(_LOOK_EVERY_S)


def _first_trial(opened: Session, experiment_id: int) -> int:
    """The first trial's ID, as soon as there is one."""
    with Progress("Waiting") as progress:
        while True:
            if trials := retry_while_unreachable(lambda: opened.get(f"{path(experiment_id)}/trials")).get("trials"):
                return min(int(each["id"]) for each in trials)
            state = output.state(retry_while_unreachable(lambda: fetch(opened, experiment_id))["state"])
            if is_finished(state):
                raise CliError(
                    f"experiment {experiment_id} ended in state {state} before a trial began; "
                    f"see `det experiment describe {experiment_id}`"
                )
            progress.say(f"(experiment is {state})")
            time.sleep(_LOOK_EVERY_S)


def _try_out(opened: Session, submission: Submission, args: Namespace) -> int:
    """Validate the configuration, then run one batch of training, one validation and one checkpoint."""
    import yaml

    _submit(opened, submission, args, activate=False, validate_only=True)
    print("Experiment configuration is valid.")
    short = for_test(submission.config)
    test = Submission(yaml.safe_dump(short, sort_keys=False), short, submission.files)
    experiment_id = _submit(opened, test, args, activate=True)
    print(f"Created test experiment {experiment_id}")
    status = wait_for(opened, experiment_id, 1.0)
    verdict = "succeeded" if status == 0 else f"failed; see `det experiment logs {experiment_id}`"
    print(f"Model definition test {verdict}")
    return status


def for_test(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same experiment at its smallest: one trial on one slot for one batch, leaving nothing behind."""
    searcher = config.get("searcher") or {}
    kept = {key: searcher[key] for key in ("metric", "smaller_is_better") if key in searcher}
    storage = config.get("checkpoint_storage") or {}
    return {
        **config,
        "description": f"[test-mode] {config.get('description') or uuid.uuid4()}",
        "searcher": {"name": "single", **kept, "max_length": {"batches": 1}},
        "min_validation_period": {"batches": 1},
        "scheduling_unit": 1,
        "max_restarts": 0,
        "resources": {**(config.get("resources") or {}), "slots_per_trial": 1},
        "checkpoint_storage": {
            **storage,
            "save_experiment_best": 0,
            "save_trial_best": 0,
            "save_trial_latest": 0,
        },
    }
