"""How a container comes to be where the daemon's answers are lost, and how what is ours comes to the containers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from resolute.agent import container_spec, docker_files_volume, docker_start
from resolute.agent.container_spec import Container
from resolute.agent.docker_engine import Away, Engine, Refusal, State
from resolute.agent.docker_start import Start
from resolute.agent.runtime import CannotStart, Launch

OWNER = container_spec.owner("a1", "cluster-1")
CREATED = State("created", 0, False, 0, {}, OWNER, "id", begun=False)
TAKEN = Refusal("Conflict. The container name is already in use", 409)


@dataclass
class Pretence(Engine):
    """A daemon that does what it is asked, and sometimes does not say so: the answer to each of `lose` is lost once."""

    lose: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    """Of those, what it does only later, when it is next asked for anything."""
    calls: list[str] = field(default_factory=list)
    there: dict[str, State] = field(default_factory=dict)
    volumes: set[str] = field(default_factory=set)
    """Which have all that is to be in them."""
    due: list[Callable[[], None]] = field(default_factory=list)
    on_start: Callable[[str], object] = lambda name: None

    def __post_init__(self) -> None:
        super().__init__()

    def _do(self, what: str, name: str, deed: Callable[[], None]) -> None:
        self.calls.append(f"{what} {name}")
        if what in self.late:
            self.late.discard(what)
            self.lose.discard(what)
            self.due.append(deed)
            raise Away("Read timed out.")
        deed()
        if what in self.lose:
            self.lose.discard(what)
            raise Away("Read timed out.")

    def state(self, name: str) -> State | None:
        found = self.there.get(name)
        while self.due:
            self.due.pop()()
        return found

    def create(self, name: str, config: Mapping[str, Any]) -> None:
        if name in self.there:
            self.calls.append(f"create {name}")
            raise TAKEN
        self._do("create", name, lambda: self.there.update({name: replace(CREATED, labels=config["Labels"])}))

    def start(self, name: str) -> None:
        self._do("start", name, lambda: self._begin(name))

    def _begin(self, name: str) -> None:
        self.there[name] = replace(self.there[name], status="running", begun=True)
        self.on_start(name)

    def remove(self, name: str) -> None:
        self._do("remove", name, lambda: self._take_away(name))

    def _take_away(self, name: str) -> None:
        self.there.pop(name, None)

    def put(self, name: str, folder: str, archive: bytes) -> None:
        self._do("put", name, lambda: None)
        if name.endswith("-filler") and len(archive) < 20_000:
            self.volumes.add(name)

    def has(self, name: str, path: str) -> bool:
        return name in self.volumes

    def image(self, name: str) -> Mapping[str, Any] | None:
        return {}

    def make_volume(self, name: str, labels: Mapping[str, str]) -> tuple[str, str]:
        return name, "today"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_start, "PAUSE_S", 0.001)
    monkeypatch.setattr(docker_files_volume, "LOOK_AGAIN_S", 0.001)


def start(engine: Engine, folder: Path, name: str = "task", labels: Mapping[str, str] = OWNER) -> Start:
    container = Container("image", labels, "none")
    return Start(engine, name, Launch("res-1", ("true",), {}), container, 1.0, folder / "notes")


@pytest.mark.parametrize("lost", ["create", "start", "put", "remove"])
@pytest.mark.parametrize("late", [False, True])
def test_an_answer_that_is_lost_costs_no_task(tmp_path: Path, lost: str, late: bool) -> None:
    engine = Pretence(lose={lost}, late={lost} if late else set())
    start(engine, tmp_path).run()
    assert engine.there["task"].begun
    engine.state("task")
    assert list(engine.there) == ["task"]
    begun = engine.calls[engine.calls.index("start task") :]
    assert set(begun) == {"start task"}, "what may run already is not removed"
    assert "is waited for: Read timed out." in (tmp_path / "notes").read_text()


def test_a_container_that_an_earlier_agent_began_is_not_taken_for_ours(tmp_path: Path) -> None:
    engine = Pretence(there={"task": replace(CREATED, status="running", begun=True)})
    with pytest.raises(CannotStart, match="was started before"):
        start(engine, tmp_path).run()
    assert "task" in engine.there


def test_one_of_that_name_that_is_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    engine = Pretence(there={"task": replace(CREATED, labels={})})
    with pytest.raises(CannotStart, match="exists already, and was not made for this task"):
        start(engine, tmp_path).run()
    assert engine.calls == []


def test_one_that_is_gone_after_it_was_told_to_start_is_not_started_twice(tmp_path: Path) -> None:
    engine = Pretence(lose={"start"})
    engine.on_start = engine.there.pop
    with pytest.raises(CannotStart, match="was removed as it was about to start"):
        start(engine, tmp_path).run()
    assert engine.calls.count("start task") == 1


def test_who_may_have_begun_is_left_to_be_told_to_end(tmp_path: Path) -> None:
    engine = Pretence(lose={"start"})
    starting = start(engine, tmp_path)
    engine.on_start = lambda _: starting.give_up.set()
    starting.run()
    assert engine.there["task"].begun


# ---------------------------------------------------------------- what is ours


def fillers(engine: Pretence) -> list[str]:
    return [call for call in engine.calls if call.startswith("put") and call.endswith("-filler")]


def test_of_many_starts_at_once_one_fills_the_volume(tmp_path: Path) -> None:
    engine = Pretence()
    threads = [threading.Thread(target=start(engine, tmp_path, f"task-{n}").run) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(state.begun for state in engine.there.values()) == 8
    assert len(fillers(engine)) == 2, "the archive and the sign that it is all there"


def test_a_volume_that_is_filled_stays_as_it_is_for_the_next_agent(tmp_path: Path) -> None:
    first = Pretence()
    start(first, tmp_path).run()
    later = Pretence(volumes=first.volumes)
    start(later, tmp_path).run()
    assert not fillers(later)


def filler_of(tmp_path: Path) -> str:
    engine = Pretence()
    start(engine, tmp_path).run()
    return fillers(engine)[0].split()[1]


def test_what_our_last_agent_left_half_filled_is_filled_again(tmp_path: Path) -> None:
    filler = filler_of(tmp_path)
    engine = Pretence(there={filler: CREATED})
    start(engine, tmp_path).run()
    assert engine.there["task"].begun
    assert len(fillers(engine)) == 2


def test_another_agent_has_its_time_to_fill_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filler = filler_of(tmp_path)
    theirs = replace(CREATED, labels=container_spec.owner("a2", "cluster-1"))
    engine = Pretence(there={filler: theirs})

    def fill() -> None:
        engine.volumes.add(filler)
        del engine.there[filler]

    threading.Timer(0.05, fill).start()
    start(engine, tmp_path).run()
    assert not fillers(engine)
    monkeypatch.setattr(docker_files_volume, "FILL_S", 0.05)
    dead = Pretence(there={filler: theirs})
    start(dead, tmp_path).run()
    assert len(fillers(dead)) == 2


def test_who_waits_for_another_agent_can_be_stopped(tmp_path: Path) -> None:
    theirs = replace(CREATED, labels=container_spec.owner("a2", "cluster-1"))
    starting = start(Pretence(there={filler_of(tmp_path): theirs}), tmp_path)
    threading.Timer(0.05, starting.give_up.set).start()
    with pytest.raises(CannotStart, match="it was stopped"):
        starting.run()
