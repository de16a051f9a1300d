"""What a search decided is in its events: folding them remembers it, and decides nothing anew.

So a rule that is corrected changes what searches decide from then on, and no state that was folded before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pytest

from resolute import codec
from resolute.proto.experiment import ExperimentCreated, SearchBracket, SearchDecision, SearchOperationsPosted
from resolute.proto.message import Event, Recorded
from resolute.search import user_commands
from resolute.search.experiment import Experiment, evolve
from resolute.search.methods import Operation, SearchEvent, halving
from resolute.search.methods.custom import CustomSearch
from resolute.search.methods.halving import HalvingSearch
from resolute.search.methods.method import Report
from resolute.search.methods.random import RandomSearch
from resolute.search.methods.ranking import Ranking
from resolute.search.methods.rung import Draft, Result
from resolute.search.settings import Settings
from tests.contract.searcher.searches import SEARCHES, a_search, playing
from tests.histories.fold import fold
from tests.histories.test_histories import HISTORIES, recorded, rows
from tests.property.searcher.walks import Walk
from tests.simulation.plain import plain
from tests.unit.searcher.story import created

HALVING = [name for name in SEARCHES if name.startswith(("async_halving", "adaptive_asha"))]
ENDS = ["REACHED"] * 6 + ["ERROR", "COMPLETED", "CANCELED", "INVALID_HP"]


class WorstFirst(Ranking):
    """A ranking that is wrong on purpose: whoever is worst moves on, and no trial is ever stopped."""

    def next_to_move_on(self, draft: Draft, divisor: float) -> Result | None:
        return max((r for r in (*draft.rung.waiting, *draft.added) if r not in draft.moved_on), default=None)

    def stays(self, draft: Draft, result: Result, divisor: float) -> bool:
        return True


class Forbidden(Ranking):
    """A ranking that must not be asked."""

    def next_to_move_on(self, draft: Draft, divisor: float) -> Result | None:
        raise AssertionError("a trial was ranked")

    def stays(self, draft: Draft, result: Result, divisor: float) -> bool:
        raise AssertionError("a trial was ranked")


def one_bracket_more(searcher: Any) -> tuple[SearchBracket, ...]:
    return (SearchBracket((1, 2), 3, 1),)


def history_of(path: Path) -> list[Recorded]:
    return [recorded(row) for row in rows(path)]


def searches_in(events: Iterable[Recorded]) -> list[Any]:
    """Everything that the searcher remembers of the experiments in a log."""
    return [plain(states[0]) for stream, states in fold(events).items() if stream.startswith("experiment-")]


def walked(name: str) -> Iterator[list[Event]]:
    """What happened in some experiments of today, with every kind of message in any order."""
    for seed in range(8):
        chance, walk = Random(seed), Walk(name)
        for _ in range(60):
            walk.take(chance.randrange(1000))
        yield walk.events


# ---------------------------------------------------------------- histories of earlier releases


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_every_history_folds_to_the_same_state_when_the_ranking_changes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = searches_in(history_of(path))
    monkeypatch.setattr(halving, "NOW", WorstFirst())
    monkeypatch.setattr(user_commands, "divide", one_bracket_more)
    assert searches_in(history_of(path)) == before


def test_there_are_histories_of_halving_from_before_decisions_were_recorded_and_from_after() -> None:
    """Else the test above would show nothing."""
    before: set[Any] = set()
    after: set[Any] = set()
    for history in map(history_of, HISTORIES):
        for created_ in (each for each in history if isinstance(each.event, ExperimentCreated)):
            search = created_.event
            assert isinstance(search, ExperimentCreated)
            name = search.config["searcher"]["name"]
            if name in ("async_halving", "adaptive_asha"):
                its_own = (each.event for each in history if each.stream == created_.stream)
                decided = {event.decided is not None for event in its_own if isinstance(event, Report)}
                assert decided == {search.brackets is not None}
                (after if search.brackets else before).add(name)
    assert before == after == {"async_halving", "adaptive_asha"}


def test_only_events_without_a_decision_are_read_by_the_rule_of_the_first_releases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halving_then, brackets_then = (history_of(path) for path in HISTORIES if path.stem.endswith("were-recorded"))
    storm, by_time = (history_of(path) for path in HISTORIES if path.stem.endswith(("in-a-storm", "by-time")))
    before = [searches_in(history) for history in (halving_then, brackets_then, storm, by_time)]
    monkeypatch.setattr(halving, "FIRST", WorstFirst())
    after = [searches_in(history) for history in (halving_then, brackets_then, storm, by_time)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, True, True]


# ---------------------------------------------------------------- searches of today


@pytest.mark.parametrize("name", ["async_halving", "adaptive_asha"])
def test_every_event_at_which_a_halving_search_may_decide_says_what_it_decided(name: str) -> None:
    for events in walked(name):
        assert all(isinstance(event.decided, SearchDecision) for event in events if isinstance(event, Report))


@pytest.mark.parametrize("name", ["async_halving", "adaptive_asha"])
def test_folding_a_search_again_ranks_no_trial_and_divides_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = list(walked(name))
    before = [plain(reduce(evolve, events, Experiment())) for events in scripts]
    monkeypatch.setattr(halving, "NOW", Forbidden())
    monkeypatch.setattr(halving, "FIRST", Forbidden())
    monkeypatch.setattr(halving, "divide", one_bracket_more)
    assert [plain(reduce(evolve, events, Experiment())) for events in scripts] == before


@pytest.mark.parametrize("name", HALVING)
@pytest.mark.parametrize("seed", range(5))
def test_a_search_folded_from_its_stored_events_is_the_one_that_decided_them(name: str, seed: int) -> None:
    """In JSON as the log holds it: infinities, results that are no numbers and equal ones included."""
    chance = Random(seed)
    player = playing(name, chance, seed, checks=False)
    for _ in range(200):
        if player.over or not player.at_work:
            break
        metric = chance.choice([None, 0.1, 0.2, chance.uniform(-9, 9)])
        player.turn(chance.choice(player.at_work), chance.choice(ENDS), metric)
    folded = a_search(name, seed)
    for event, _ in player.history:
        folded.evolve(stored(event))
    assert plain(folded) == plain(player.method)


def stored(event: Any) -> Any:
    encoded = codec.event_to_json(event)
    return codec.event_from_json(encoded.type, encoded.schema_version, encoded.data)


def test_the_brackets_of_a_search_are_recorded_when_it_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    events = created("adaptive_asha", max_trials=16, max_length={"batches": 64}, divisor=4)
    assert isinstance(events[0], ExperimentCreated)
    brackets = events[0].brackets
    assert brackets == (SearchBracket((4, 16, 64), 12, 8), SearchBracket((16, 64), 4, 8))
    monkeypatch.setattr(halving, "divide", one_bracket_more)
    method = reduce(evolve, events, Experiment()).method
    assert isinstance(method, HalvingSearch)
    assert tuple(bracket.ladder.lengths for bracket in method.brackets) == ((4, 16, 64), (16, 64))


@pytest.mark.parametrize("name", ["single", "random", "custom"])
def test_other_searches_record_no_decisions(name: str) -> None:
    for events in walked(name):
        assert events[0].brackets is None  # type: ignore[attr-defined]
        assert all(event.decided is None for event in events if isinstance(event, Report))


def test_how_many_invalid_trials_are_replaced_is_no_part_of_what_is_remembered() -> None:
    """A bound that is lowered later makes searches end earlier from then on, and folds no log to another state."""
    player = playing("random", Random(1), checks=False)
    ends = itertools.cycle(["INVALID_HP", "REACHED"])
    player.run(lambda: next(ends))
    assert remembered(1, player.history) == remembered(10_000, player.history)


def remembered(replaced_most: int, history: list[tuple[SearchEvent, list[Operation]]]) -> Any:
    method = RandomSearch(Settings.of(SEARCHES["random"]), 7)
    method.replaced_most = replaced_most
    for event, _ in history:
        method.evolve(event)
    return plain({name: value for name, value in vars(method).items() if name != "replaced_most"})


def test_operations_that_were_accepted_once_stay_readable_when_checks_become_stricter() -> None:
    """A length above today's bound, a share above 1, and a field that is not known any more."""
    request = "5b6f24d0-4bd5-4d10-9d4a-2a0c6bb0c0de"
    posted = [
        {"type": "create_trial", "request_id": request.upper(), "hparams": {}, "length": 2**60, "nickname": "first"},
        {"type": "set_progress", "progress": 1.5},
    ]
    search = CustomSearch(Settings.of(SEARCHES["custom"]), 7)
    search.evolve(SearchOperationsPosted(tuple(posted)))
    assert search._known[request].target == 2**60
    assert search.progress() == 1.5
