"""What every task runtime promises, tried with real tasks."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from resolute.agent import container_spec
from resolute.agent.container_spec import Container, ContainerLaunch
from resolute.agent.docker_engine import Engine, Refusal
from resolute.agent.docker_runtime import DockerRuntime
from resolute.agent.process_runtime import ProcessRuntime
from resolute.agent.runtime import CannotStart, Exit, Launch, Line, TaskRuntime
from tests import needs

MakeRuntime = Callable[..., TaskRuntime]

IMAGE = "python:3.11-slim-bookworm"
OWNER = container_spec.owner("a1", f"contract-{uuid.uuid4()}")
RESOURCES = f"{container_spec.LABEL}resources"
PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"], "/usr/local/bin"])


@pytest.fixture(params=["process", pytest.param("docker", marks=needs.docker)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeRuntime]:
    """A runtime; the next call makes another one over the same tasks, as an agent does that starts anew."""
    if request.param == "process":
        yield lambda grace_s=0.5: ProcessRuntime(tmp_path / "tasks", grace_s=grace_s)
        return
    yield lambda grace_s=0.5: DockerRuntime(tmp_path / "tasks", Engine(), OWNER, grace_s=grace_s)
    engine = Engine()
    for container_id, _ in engine.owned(OWNER):
        engine.remove(container_id)


@pytest.fixture
def runtime(make: MakeRuntime) -> TaskRuntime:
    return make()


@pytest.fixture
def patient(make: MakeRuntime) -> TaskRuntime:
    """One whose tasks have plenty of time to end by themselves."""
    return make(grace_s=60.0)


def command(*words: str, **environment: str) -> Launch:
    resources_id = str(uuid.uuid4())
    labels = {**OWNER, RESOURCES: resources_id}
    own = {"PATH": PATH, "DET_RESOURCES_ID": resources_id, **environment}
    return ContainerLaunch(resources_id, words, own, container=Container(IMAGE, labels, network="none"))


def python(code: str, **environment: str) -> Launch:
    return command("python3", "-u", "-S", "-c", code, **environment)


def processes_of(launch: Launch) -> list[psutil.Process]:
    """All of a task, its supervisor included, as this host sees it."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("DET_RESOURCES_ID") == launch.resources_id
            if mine and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


async def lines_of(runtime: TaskRuntime, launch: Launch) -> list[Line]:
    lines: list[Line] = []
    mark = 0
    while (chunk := await runtime.logs(launch.resources_id, mark, 7)).lines:
        lines += chunk.lines
        mark = chunk.mark
    return lines


async def texts_of(runtime: TaskRuntime, launch: Launch) -> list[str]:
    return [line.text for line in await lines_of(runtime, launch)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not condition():  # noqa: ASYNC110  (it is about other processes)
            await asyncio.sleep(0.01)


async def until_it_says(runtime: TaskRuntime, launch: Launch, text: str = "") -> str:
    """Wait for a line that holds `text`."""
    async with asyncio.timeout(90):
        while True:
            for found in await texts_of(runtime, launch):
                if text in found:
                    return found
            await asyncio.sleep(0.01)


async def ended(runtime: TaskRuntime, launch: Launch) -> Exit:
    async with asyncio.timeout(90):
        return await runtime.exit(launch.resources_id)


async def test_a_task_runs_with_its_own_environment_and_directory(
    runtime: TaskRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_AGENT", "not for others")
    launch = python("import os; print(os.environ.get('WHO'), os.environ.get('OF_THE_AGENT'), os.getcwd())", WHO="me")
    await runtime.start(launch)
    assert (await ended(runtime, launch)).code == 0
    assert await texts_of(runtime, launch) == [f"me None {runtime.folder(launch.resources_id)}/workdir"]


async def test_a_task_finds_the_files_it_is_given_in_its_folder(runtime: TaskRuntime) -> None:
    large = "0123456789" * 300_000
    launch = python("import os, hashlib; print(hashlib.sha256(open('../config.json', 'rb').read()).hexdigest())")
    await runtime.start(replace(launch, files={"config.json": large}))
    assert (await ended(runtime, launch)).code == 0
    assert await texts_of(runtime, launch) == [hashlib.sha256(large.encode()).hexdigest()]


@pytest.mark.parametrize("code", [0, 1, 42])
async def test_its_exit_code_is_told(runtime: TaskRuntime, code: int) -> None:
    launch = python(f"raise SystemExit({code})")
    await runtime.start(launch)
    assert (await ended(runtime, launch)).code == code


async def test_a_death_by_signal_is_told_as_shells_do(runtime: TaskRuntime) -> None:
    launch = python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    await runtime.start(launch)
    assert (await ended(runtime, launch)).code == 139


async def test_every_line_is_kept_with_its_instant_and_its_stream(runtime: TaskRuntime) -> None:
    before = time.time()
    launch = python("import sys\nfor n in range(50): print(n)\nprint('trouble', file=sys.stderr)")
    await runtime.start(launch)
    await ended(runtime, launch)
    lines = await lines_of(runtime, launch)
    assert [line.text for line in lines if line.stdtype == "stdout"] == [str(n) for n in range(50)]
    assert [line.text for line in lines if line.stdtype == "stderr"] == ["trouble"]
    assert all(before <= line.at.timestamp() <= time.time() for line in lines)


async def test_progress_bars_and_last_words_without_a_newline_are_lines_too(runtime: TaskRuntime) -> None:
    launch = python("import sys; sys.stdout.write('10%\\r50%\\r\\n100%\\nbye')")
    await runtime.start(launch)
    await ended(runtime, launch)
    assert await texts_of(runtime, launch) == ["10%", "50%", "100%", "bye"]


async def test_a_line_without_end_comes_in_pieces(runtime: TaskRuntime) -> None:
    launch = python("print('x' * 200_000)")
    await runtime.start(launch)
    await ended(runtime, launch)
    assert "".join(await texts_of(runtime, launch)) == "x" * 200_000


async def test_a_line_that_ends_as_if_the_task_had_is_a_line(runtime: TaskRuntime) -> None:
    last = "A" * 5000 + " x y z", "A" * 4083 + " x 0 0"
    launch = python(f"import time\nfor line in {last!r}:\n    print(line)\n    time.sleep(0.3)\nraise SystemExit(3)")
    await runtime.start(launch)
    assert (await ended(runtime, launch)).code == 3
    assert await texts_of(runtime, launch) == list(last)


async def test_no_character_is_cut_where_a_line_is(runtime: TaskRuntime) -> None:
    launch = python("print('x' + 'é€😀' * 30_000)")
    await runtime.start(launch)
    await ended(runtime, launch)
    assert "".join(await texts_of(runtime, launch)) == "x" + "é€😀" * 30_000


async def test_output_that_is_not_utf8_is_kept_as_well_as_can_be(runtime: TaskRuntime) -> None:
    launch = python("import sys; sys.stdout.buffer.write(b'caf\\xe9\\n')")
    await runtime.start(launch)
    await ended(runtime, launch)
    assert await texts_of(runtime, launch) == ["caf\ufffd"]


async def test_a_task_that_is_asked_to_end_may_tidy_up(patient: TaskRuntime) -> None:
    launch = python(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('tidied'), sys.exit(7)))\n"
        "print('up')\ntime.sleep(60)"
    )
    await patient.start(launch)
    await until_it_says(patient, launch, "up")
    await patient.signal(launch.resources_id, signal.SIGTERM)
    assert (await ended(patient, launch)).code == 7
    assert await texts_of(patient, launch) == ["up", "tidied"]


async def test_so_may_a_program_whose_shell_ends_at_once(patient: TaskRuntime) -> None:
    tidying = "time.sleep(0.3); print('tidied', flush=True); sys.exit(7)"
    code = f"import signal, sys, time\ndef tidy(*_):\n    {tidying}\nsignal.signal(signal.SIGTERM, tidy)\n"
    program = f"{code}print('up', flush=True)\ntime.sleep(60)"
    launch = command("sh", "-c", 'python3 -S -c "$0"; echo "the shell is still there"', program)
    await patient.start(launch)
    await until_it_says(patient, launch, "up")
    await patient.signal(launch.resources_id, signal.SIGTERM)
    assert (await ended(patient, launch)).code == 143
    assert await texts_of(patient, launch) == ["up", "tidied"]


async def test_what_has_left_the_group_of_a_task_is_asked_to_end_with_it(patient: TaskRuntime) -> None:
    outsider = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('tidied', flush=True), sys.exit()))\n"
        "print('up', flush=True)\nsignal.pause()"
    )
    launch = command("sh", "-c", 'setsid python3 -S -c "$0" & wait', outsider)
    await patient.start(launch)
    await until_it_says(patient, launch, "up")
    await patient.signal(launch.resources_id, signal.SIGTERM)
    assert (await ended(patient, launch)).code == 143
    assert await texts_of(patient, launch) == ["up", "tidied"]
    assert processes_of(launch) == []


DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\ntime.sleep(60)"


async def test_one_that_does_not_listen_is_killed_when_its_time_is_up(runtime: TaskRuntime) -> None:
    launch = python(DEAF)
    await runtime.start(launch)
    await until_it_says(runtime, launch, "up")
    asked = time.monotonic()
    await runtime.signal(launch.resources_id, signal.SIGTERM)
    assert (await ended(runtime, launch)).code == 137
    assert 0.4 < time.monotonic() - asked < 40


async def test_killing_does_not_wait(runtime: TaskRuntime) -> None:
    launch = python(DEAF)
    await runtime.start(launch)
    await until_it_says(runtime, launch, "up")
    await runtime.signal(launch.resources_id, signal.SIGKILL)
    assert (await ended(runtime, launch)).code == 137


async def test_other_signals_are_passed_on(runtime: TaskRuntime) -> None:
    launch = python(
        "import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: print('heard'))\nprint('up')\nsignal.pause()"
    )
    await runtime.start(launch)
    await until_it_says(runtime, launch, "up")
    await runtime.signal(launch.resources_id, signal.SIGUSR1)
    assert (await ended(runtime, launch)).code == 0
    assert await texts_of(runtime, launch) == ["up", "heard"]


FAMILY = """
import os, subprocess, sys, time
nap = [sys.executable, '-S', '-c', 'import time; time.sleep(60)']
child = subprocess.Popen(nap)
outsider = subprocess.Popen(nap, start_new_session=True)
print(child.pid, outsider.pid)
"""


@pytest.mark.parametrize("how", ["it ends", "it is killed"])
async def test_nothing_of_a_task_outlives_it(runtime: TaskRuntime, how: str) -> None:
    launch = python(FAMILY + ("time.sleep(60)" if how == "it is killed" else "sys.exit(5)"))
    await runtime.start(launch)
    if how == "it is killed":
        await until_it_says(runtime, launch)
        await runtime.signal(launch.resources_id, signal.SIGKILL)
    assert (await ended(runtime, launch)).code == (137 if how == "it is killed" else 5)
    assert processes_of(launch) == []


async def test_a_later_runtime_finds_a_running_task_its_output_and_its_end(make: MakeRuntime) -> None:
    launch = python(
        "import sys\nprint('up')\nprint('got', sys.stdin.read(1) or 'nothing')\nimport time; time.sleep(0.5)"
    )
    await make().start(launch)
    later = make()
    assert await later.attach(launch.resources_id)
    await until_it_says(later, launch, "up")
    assert (await ended(later, launch)).code == 0
    assert await texts_of(later, launch) == ["up", "got nothing"]


async def test_a_later_runtime_finds_a_task_that_ended_meanwhile(make: MakeRuntime) -> None:
    launch = python("print('done'); raise SystemExit(3)")
    first = make()
    await first.start(launch)
    await ended(first, launch)
    later = make()
    assert await later.attach(launch.resources_id)
    assert (await ended(later, launch)).code == 3
    assert await texts_of(later, launch) == ["done"]


async def test_a_later_runtime_can_stop_what_an_earlier_one_began(make: MakeRuntime) -> None:
    launch = python(DEAF)
    await make().start(launch)
    later = make()
    await until_it_says(later, launch, "up")
    await later.signal(launch.resources_id, signal.SIGTERM)
    assert (await ended(later, launch)).code == 137


async def test_there_is_nothing_to_find_where_nothing_was(runtime: TaskRuntime) -> None:
    assert not await runtime.attach(str(uuid.uuid4()))


async def test_a_command_that_is_not_there_says_so_in_its_log(runtime: TaskRuntime) -> None:
    launch = command("no-such-command")
    await runtime.start(launch)
    assert (await ended(runtime, launch)).code == 127
    assert await texts_of(runtime, launch) == ["ERROR: cannot run no-such-command: No such file or directory"]


async def test_a_task_is_started_once(runtime: TaskRuntime) -> None:
    launch = python("pass")
    await runtime.start(launch)
    with pytest.raises(CannotStart):
        await runtime.start(launch)
    await ended(runtime, launch)
    with pytest.raises(CannotStart):
        await runtime.start(launch)


async def test_signals_to_a_task_that_has_ended_go_nowhere(runtime: TaskRuntime) -> None:
    launch = python("pass")
    await runtime.start(launch)
    await ended(runtime, launch)
    await runtime.signal(launch.resources_id, signal.SIGTERM)
    await runtime.forget(launch.resources_id)
    await runtime.signal(launch.resources_id, signal.SIGKILL)
    assert not await runtime.attach(launch.resources_id)


async def test_a_task_whose_supervisor_is_killed_ends_with_it(make: MakeRuntime) -> None:
    launch = python(FAMILY + "time.sleep(60)")
    runtime = make()
    await runtime.start(launch)
    await until_it_says(runtime, launch)
    everyone = processes_of(launch)
    (supervisor,) = (process for process in everyone if process.parent() not in everyone)
    supervisor.kill()
    found = await ended(runtime, launch)
    assert found.code is None
    assert "was killed" in found.reason
    await until(lambda: not processes_of(launch))


async def test_variables_that_no_process_can_have_are_the_tasks_trouble_not_the_agents(runtime: TaskRuntime) -> None:
    with pytest.raises(CannotStart, match="cannot start"):
        await runtime.start(python("print()", **{"A=B": "c"}))


async def test_what_nobody_owns_is_ended(make: MakeRuntime) -> None:
    mine, strays = python(DEAF), python(DEAF)
    runtime = make()
    for launch in (mine, strays):
        await runtime.start(launch)
        await until_it_says(runtime, launch, "up")
    await make().tidy([mine.resources_id])
    assert (await ended(runtime, strays)).code in (137, None)
    assert processes_of(mine)
    assert not processes_of(strays)
    await runtime.signal(mine.resources_id, signal.SIGKILL)
    await ended(runtime, mine)


class Slow(Engine):
    """A busy daemon, which takes its time to say which containers there are."""

    def __init__(self) -> None:
        super().__init__()
        self.was_asked, self.may_say = threading.Event(), threading.Event()

    def owned(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        self.was_asked.set()
        assert self.may_say.wait(90)
        return super().owned(labels)


@needs.docker
async def test_a_task_that_begins_while_a_busy_daemon_lists_the_others_is_left_alone(tmp_path: Path) -> None:
    engine, owned, launch = Slow(), set[str](), python(DEAF)
    runtime = DockerRuntime(tmp_path / "tasks", engine, OWNER, grace_s=0.5)
    tidying = asyncio.create_task(runtime.tidy(owned))
    await until(engine.was_asked.is_set)
    owned.add(launch.resources_id)
    await runtime.start(launch)
    engine.may_say.set()
    await tidying
    assert processes_of(launch)
    await runtime.signal(launch.resources_id, signal.SIGKILL)
    await ended(runtime, launch)
    await runtime.forget(launch.resources_id)


@needs.docker
async def test_agents_of_several_clusters_on_one_engine_leave_each_others_containers_alone(tmp_path: Path) -> None:
    others = container_spec.owner("a1", f"contract-{uuid.uuid4()}")
    mine, launch = DockerRuntime(tmp_path / "mine", Engine(), OWNER, grace_s=0.5), python(DEAF)
    theirs = DockerRuntime(tmp_path / "theirs", Engine(), others, grace_s=0.5)
    assert launch.container is not None
    labels = {**launch.container.labels, **others}
    same_id = replace(launch, container=replace(launch.container, labels=labels))
    try:
        for runtime, one in ((mine, launch), (theirs, same_id)):
            await runtime.start(one)
            await until_it_says(runtime, one, "up")
        await theirs.signal(launch.resources_id, signal.SIGKILL)
        assert (await ended(theirs, launch)).code == 137
        await theirs.forget(launch.resources_id)
        assert not await theirs.attach(launch.resources_id)
        assert processes_of(launch)
        assert await mine.attach(launch.resources_id)
    finally:
        for runtime in (mine, theirs):
            await runtime.signal(launch.resources_id, signal.SIGKILL)
            await runtime.forget(launch.resources_id)


@needs.docker
@pytest.mark.parametrize("ours", [True, False])
async def test_a_container_named_as_earlier_agents_did_is_found_by_its_labels(tmp_path: Path, ours: bool) -> None:
    runtime, launch, engine = DockerRuntime(tmp_path, Engine(), OWNER, grace_s=0.5), python(DEAF), Engine()
    await runtime.start(launch)
    (container_id,) = [one for one, labels in engine.owned(OWNER) if labels[RESOURCES] == launch.resources_id]
    engine.client.rename(container_id, f"resolute-{launch.resources_id}")
    owner = OWNER if ours else container_spec.owner("a1", "another")
    later = DockerRuntime(tmp_path / ("" if ours else "other"), Engine(), owner, grace_s=0.5)
    assert await later.attach(launch.resources_id) == ours
    await later.signal(launch.resources_id, signal.SIGKILL)
    await later.forget(launch.resources_id)
    assert (engine.state(container_id) is None) == ours
    engine.remove(container_id)


@needs.docker
async def test_one_container_that_cannot_be_removed_does_not_keep_the_others(tmp_path: Path) -> None:
    class Stuck(Engine):
        def remove(self, name: str) -> None:
            if name in stuck:
                raise Refusal("driver failed to remove root filesystem: device or resource busy", 500)
            super().remove(name)

    engine, stuck = Stuck(), set[str]()
    runtime, launches = DockerRuntime(tmp_path, engine, OWNER, grace_s=0.5), [python(DEAF), python(DEAF)]
    for launch in launches:
        await runtime.start(launch)
    first, second = [
        one for one, labels in engine.owned(OWNER) if labels[RESOURCES] in {one.resources_id for one in launches}
    ]
    stuck.add(first)
    await runtime.tidy(())
    assert engine.state(second) is None
    assert engine.state(first) is not None
    stuck.clear()
    await runtime.tidy(())
    assert engine.state(first) is None


@needs.docker
async def test_whoever_an_image_runs_as_can_work_in_its_directory(tmp_path: Path) -> None:
    engine, image, base = Engine(), f"contract-{uuid.uuid4()}", f"contract-{uuid.uuid4()}"
    engine.create(base, {"Image": IMAGE})
    engine.client.commit(base, image, changes="USER nobody")
    launch = python("import os; open('made', 'w').close(); os.mkdir('../info'); print(os.getuid() > 0, os.listdir())")
    assert launch.container is not None
    try:
        runtime = DockerRuntime(tmp_path, engine, OWNER)
        await runtime.start(replace(launch, container=replace(launch.container, image=image)))
        assert (await ended(runtime, launch)).code == 0
        assert await texts_of(runtime, launch) == ["True ['made']"]
        await runtime.forget(launch.resources_id)
    finally:
        engine.remove(base)
        engine.client.remove_image(image)
