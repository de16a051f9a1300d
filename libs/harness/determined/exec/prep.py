"""The start of a task: fetches the model definition, waits for the other containers, runs the hook, runs the program.

python -m determined.exec.prep -- python3 train.py --lr 0.1
python -m determined.exec.prep                 (the configuration's entrypoint)
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import itertools
import json
import logging
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from determined import _info, constants
from determined.common.api import Session, errors
from determined.common.api._session import segment
from determined.exec import _entrypoint, _inline
from determined.exec._unpack import UnsafeArchive, unpack

logger = logging.getLogger("determined.exec.prep")

RENDEZVOUS_S = 600.0
PROGRAMS = {"NOTEBOOK": "determined.exec.notebook", "SHELL": "determined.exec.shell"}
"""The modules that are run in tasks whose kind says what runs, by kind."""
HOOK = "startup-hook.sh"
CONFIGURED_HOOK = "environment.startup_hook"
"""The hook of the configuration: of the experiment, or of `task_container_defaults`."""


class CannotStart(Exception):
    """The task cannot start; the message says why, and `code` is the exit code. `hopeless`: it never could."""

    def __init__(self, message: str, code: int = 1, *, hopeless: bool = False) -> None:
        super().__init__(message)
        self.code, self.hopeless = code, hopeless


def main(words: Sequence[str], warm: bool = False) -> NoReturn:
    """`warm`: this process was forked from a warm parent, which has imported large packages already."""
    python_settings = _python_settings()
    inherited = len(sys.modules) if warm else 0
    try:
        job, hooks = prepare(words)
    except CannotStart as reason:
        _give_up(reason)
    # A hook may change variables that an interpreter reads at its start only, or packages that are imported already.
    hooked = _python_settings() != python_settings or (warm and hooks)
    may_inline = not hooked and not (warm and _inline.hides_a_module(os.getcwd()))
    if may_inline:
        _inline.look_again()
        atexit.register(_note_imports, inherited)
    run(job, may_inline)


def _give_up(reason: CannotStart) -> NoReturn:
    info = _info.read_cluster_info(os.environ) if reason.hopeless else None
    if info is not None:
        from determined.exec import _hopeless

        _hopeless.report(info)
    print(f"ERROR: {reason}", file=sys.stderr, flush=True)
    sys.exit(reason.code)


def _note_imports(inherited: int) -> None:
    """Writes the names of the imported modules for the agent, without the first `inherited`. A warm parent for further
    tasks imports some of them."""
    names = itertools.islice(reversed(sys.modules), max(0, len(sys.modules) - inherited))
    with contextlib.suppress(OSError):
        (_run_dir() / "imported").write_text("\n".join(names))


def _python_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PYTHON") or name == "PATH"}


def prepare(words: Sequence[str]) -> tuple[_entrypoint.Command | _entrypoint.TrialClass, bool]:
    """Prepares the task. Returns the job, and whether hooks have run. Afterwards the working directory has the model
    definition. Raises CannotStart."""
    info = _info.read_cluster_info(os.environ)
    if info is None:
        raise CannotStart("this is the start of a cluster task, and DET_MASTER and DET_SESSION_TOKEN are not set")
    workdir = pathlib.Path(os.environ.get("DET_WORKDIR") or os.getcwd())
    workdir.mkdir(parents=True, exist_ok=True)
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        _fetch_context(session, info.task_id, workdir)
        slots = _meet(session, info)
    except errors.BadRequestException as problem:
        raise CannotStart(f"the master refused or did not answer: {problem}") from problem
    finally:
        session.close()
    _refuse_to_be_hidden(workdir)
    os.chdir(workdir)
    _write_info_files(info)
    hooks = _run_hooks(_config_of(info), workdir)
    return _job(words, info, slots), hooks


def run(job: _entrypoint.Command | _entrypoint.TrialClass, may_inline: bool = True) -> NoReturn:
    """Runs the program: by exec, or in this process when that makes no difference for the program."""
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(job, _entrypoint.TrialClass) and may_inline:
        from determined.exec import harness

        sys.path[0] = os.getcwd()
        sys.exit(harness.main(["--trial", job.spec]))
    if isinstance(job, _entrypoint.TrialClass):
        job = _entrypoint.Command((sys.executable, "-m", "determined.exec.harness", "--trial", job.spec))
    os.environ["PYTHONPATH"] = _with_workdir(os.environ.get("PYTHONPATH"))
    if (
        may_inline
        and _inline.is_plain_script(job.argv)
        and not _inline.hides_a_module(os.path.dirname(job.argv[1]) or ".")
    ):
        sys.path.insert(1, os.getcwd())
        sys.exit(_inline.run_script(job.argv))
    try:
        os.execvp(job.argv[0], job.argv)
    except OSError as problem:
        code = 127 if isinstance(problem, FileNotFoundError) else 126
        _give_up(CannotStart(f"entrypoint: cannot run {job.argv[0]!r}: {problem.strerror}", code, hopeless=True))


def _job(words: Sequence[str], info: _info.ClusterInfo, slots: int) -> _entrypoint.Command | _entrypoint.TrialClass:
    if info.task_type in PROGRAMS:
        return _entrypoint.Command((sys.executable, "-m", PROGRAMS[info.task_type]))
    try:
        entrypoint = _entrypoint.from_command_line(words, _config_of(info).get("entrypoint"))
        python = os.environ.get("DET_PYTHON_EXECUTABLE") or "python3"
        job = _entrypoint.interpret(entrypoint, slots, python, _launcher() if slots > 1 else "")
    except ValueError as problem:
        raise CannotStart(str(problem), hopeless=True) from problem
    if isinstance(job, _entrypoint.Command) and (what := _entrypoint.missing(job.argv)):
        raise CannotStart(f"entrypoint: {what}", 127, hopeless=True)
    return job


def _config_of(info: _info.ClusterInfo) -> Mapping[str, Any]:
    return info.trial._config if info.task_type == "TRIAL" else _info.task_config_from_env(os.environ)


def _launcher() -> str:
    """The launcher for the workers of a trial class: Horovod if it is installed for torch, as in Determined."""
    from determined.launch import _horovod_plan

    return "horovod" if _horovod_plan.is_here_for_torch() else "torch_distributed"


def _fetch_context(session: Session, task_id: str, workdir: pathlib.Path) -> None:
    answer = session.get(f"/api/v1/tasks/{segment(task_id)}/context_directory")
    archive = base64.b64decode(answer.get("b64Tgz") or "")
    if not archive:
        return
    try:
        unpack(archive, workdir)
    except (UnsafeArchive, OSError, EOFError) as problem:
        hopeless = isinstance(problem, UnsafeArchive)  # a full disk may have room at the next try
        raise CannotStart(f"the context directory cannot be unpacked: {problem}", hopeless=hopeless) from problem
    # Checkpoints contain the model definition as it was submitted, even if the program changes its files.
    kept = _run_dir() / constants.CONTEXT_ARCHIVE
    if kept.parent.is_dir():
        kept.write_bytes(archive)


def _refuse_to_be_hidden(workdir: pathlib.Path) -> None:
    """Raises CannotStart when the working directory has a module `determined`, which Python would import instead."""
    for name in ("determined", "determined.py"):
        if (workdir / name).exists():
            raise CannotStart(
                f"{name} in the working directory hides the package `determined`, which the task needs to start: "
                "rename it, or leave it out of the context directory with a line in .detignore",
                hopeless=True,
            )


def _meet(session: Session, info: _info.ClusterInfo) -> int:
    """Waits for the other containers of the allocation, if there are any; returns the number of all slots."""
    asked = _slots_asked(info)
    if asked <= max(1, len(info.slot_ids)):
        return len(info.slot_ids)
    allocation, resources = segment(info.allocation_id), segment(os.environ.get("DET_RESOURCES_ID", ""))
    path = f"/api/v1/allocations/{allocation}/resources/{resources}/rendezvous"
    logger.info("waiting for the other containers of this allocation")
    answer = session.get(path, timeout_s=RENDEZVOUS_S)["rendezvousInfo"]
    found = _info.RendezvousInfo(answer["addresses"], int(answer["rank"]), [int(n) for n in answer["slots"]])
    info._rendezvous_info = found
    return sum(found.container_slot_counts)


def _slots_asked(info: _info.ClusterInfo) -> int:
    if info.task_type != "TRIAL":
        return 1
    resources: Mapping[str, Any] = info.trial._config.get("resources") or {}
    asked = resources.get("slots_per_trial") or 1
    # For a range, only the rendezvous has the number of slots of this run.
    return int(asked["max"] if isinstance(asked, Mapping) else asked)


def _write_info_files(info: _info.ClusterInfo) -> None:
    """Writes the facts about the task to files, for programs that are started with a cleared environment."""
    folder = _run_dir() / "info"
    if not _run_dir().is_dir():
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = {
        "cluster": _info.cluster_from_env(os.environ),
        "trial": _info.trial_from_env(os.environ),
        "rendezvous": vars(info._rendezvous_info) if info._rendezvous_info else None,
    }
    for name, contents in facts.items():
        if contents is not None:
            handle = os.open(folder / f"{name}.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(handle, "w") as file:
                json.dump(contents, file)


def _run_hooks(config: Mapping[str, Any], workdir: pathlib.Path) -> bool:
    """Runs the hook of the configuration, then that of the context directory. Returns whether there was any."""
    configured, own = (config.get("environment") or {}).get("startup_hook"), workdir / HOOK
    if configured:
        with os.fdopen(os.memfd_create("hook"), "wb") as file:
            file.write(configured.encode())
            file.flush()
            _run_hook(f"/proc/self/fd/{file.fileno()}", CONFIGURED_HOOK, (file.fileno(),))
    if own.is_file():
        _run_hook(str(own), HOOK)
    return bool(configured) or own.is_file()


def _run_hook(hook: str, name: str, inherited: tuple[int, ...] = ()) -> None:
    """Sources the hook in a shell; variables that it exports are set for the program. `name` is for errors; the shell
    inherits the descriptors `inherited`."""
    import subprocess

    # Not a pipe: a process that the hook leaves running would hold it open, and reading it would not end.
    with os.fdopen(os.memfd_create("environment"), "r+b") as exported:
        # Not `set -e`: users expect a command in the middle to be allowed to fail; only the hook's exit code counts.
        script = f'. "$0"; code=$?; env -0 >&{exported.fileno()}; exit $code'
        try:
            code = subprocess.call(["bash", "-c", script, hook], pass_fds=[exported.fileno(), *inherited])
        except FileNotFoundError as problem:
            raise CannotStart(f"{name} needs bash, which is not installed here", 127, hopeless=True) from problem
        exported.seek(0)
        variables = exported.read()
    if code != 0:
        raise CannotStart(f"{name} ended with exit code {code}", code if code > 0 else 128 - code)
    if not variables:  # it left by `exit 0`
        return
    fresh = dict(entry.partition(b"=")[::2] for entry in variables.split(b"\0") if entry)
    shells_own = {b"_", b"SHLVL", b"PWD", b"OLDPWD"}
    os.environb.clear()
    os.environb.update({name: value for name, value in fresh.items() if name not in shells_own})


def _run_dir() -> pathlib.Path:
    return pathlib.Path(os.environ.get("DET_RUN_DIR") or constants.DEFAULT_RUN_DIR)


def _with_workdir(path: str | None) -> str:
    return os.pathsep.join([os.getcwd(), *([path] if path else [])])


if __name__ == "__main__":
    main(sys.argv[1:])
