"""Searching runs and experiments by filters: Postgres and the twin in memory answer alike, whatever is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

import asyncpg
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, ExperimentConfig
from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.measures.metrics import MetricRow, MetricStore
from resolute.api.measures.summaries import count_new
from resolute.api.runs import queries as statements
from resolute.api.runs.column_queries import RUN_COLUMNS, SEARCH_COLUMNS, UNSORTABLE
from resolute.api.runs.filters import Columns, Kind, parse_filter, parse_sort
from resolute.api.runs.matching import Summary
from resolute.api.runs.memory import MemoryRuns
from resolute.api.runs.queries import PostgresRuns, RunQueries, Search
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.tables import RUNS as TRIAL_RUNS
from resolute.api.trials.tables import STANDINGS, TRIALS, VALIDATIONS, Standing
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import AT, experiment
from tests.contract.queries.rows_of_trials import at, trial
from tests.contract.queries.test_trials import checkpoint

RUNS = 60
SEARCHES = 20
STATES = ("ACTIVE", "COMPLETED", "ERROR", "PAUSED")
WORDS = ("digits", "Digit 7", "a%b_c", "", "letters")

SPACES: Sequence[Mapping[str, Any]] = (
    {"lr": {"type": "const", "val": 0.5}, "optimizer": {"name": {"type": "const", "val": "adam"}}},
    {"lr": {"type": "log", "minval": 0.25, "maxval": 4, "base": 10}},
    {"lr": {"type": "categorical", "vals": [0.25, 0.5, "auto"]}, "optimizer": {"name": {"type": "const", "val": ""}}},
    {},
)
HPARAMS: Sequence[Mapping[str, Any]] = (
    {"lr": 0.25, "optimizer": {"name": "adam"}},
    {"lr": 0.5, "optimizer": {"name": "SGD"}, "layers": [8, 16]},
    {"lr": "auto", "optimizer": {"name": ""}},
    {"lr": None, "flag": True},
    {"lr": 4},
)
METADATA: Sequence[Any] = (
    None,
    {"note": "Digits", "seen": "2026-01-31", "score": 3},
    {"note": "", "seen": "2026-02-31", "nested": {"tag": "x"}, "score": "3"},
    {"seen": "2026-01-31T13:00:00+01:00", "nested": {"tag": "y"}, "score": 10},
    {"note": ["a"], "seen": "2026-02"},
)


def random_rows(chance: Random) -> Mapping[Table[Any], Sequence[Any]]:
    searches = range(1, SEARCHES + 1)
    return {
        USERS: (
            User(1, "ann", admin=False, active=True, display_name="", remote=False, modified_at=AT),
            User(2, "bob", admin=False, active=True, display_name="", remote=False, modified_at=AT),
        ),
        WORKSPACES: (Workspace(1, "one", 1, immutable=False), Workspace(2, "two", 1, immutable=False, archived=True)),
        PROJECTS: (Project(1, 1, "digits", "", 1, immutable=False), Project(2, 2, "letters", "", 1, immutable=False)),
        EXPERIMENTS: [_search(chance, id_) for id_ in searches],
        CONFIGS: [ExperimentConfig(id_, {"hyperparameters": chance.choice(SPACES)}, "") for id_ in searches],
        TRIALS: [_run(chance, id_) for id_ in range(1, RUNS + 1)],
        STANDINGS: [_standing(id_) for id_ in searches],
        TRIAL_RUNS: (),
        VALIDATIONS: (),
        ALLOCATIONS: (),
        CHECKPOINTS: [checkpoint(f"c{n}", chance.randint(1, RUNS), n) for n in range(30)],
    }


def _search(chance: Random, id_: int) -> Any:
    return experiment(
        id_,
        f"job-{id_}",
        name=chance.choice(WORDS),
        description=chance.choice(WORDS),
        labels=chance.choice(((), ("a",), ("A b", "ü"))),
        owner_id=chance.choice((1, 2)),
        project_id=chance.choice((1, 2)),
        state=chance.choice(STATES),
        archived=chance.random() < 0.3,
        parent_id=chance.choice((None, 1, 2)),
        external_id=chance.choice((None, "outside")),
        search_progress=chance.choice((None, 0.25, 0.5)),
        ended_at=chance.choice((None, at(90))),
    )


def _run(chance: Random, id_: int) -> Any:
    ended = chance.choice((None, at(id_) + timedelta(seconds=chance.randint(0, 100))))
    return trial(
        id_,
        (id_ - 1) % SEARCHES + 1,
        hparams=chance.choice(HPARAMS),
        metadata=chance.choice(METADATA),
        state=chance.choice(STATES),
        best_metric=chance.choice((None, 0.125, 0.5, 10.0, 9.0)),
        ended_at=ended,
        archived=chance.random() < 0.3,
    )


def _standing(id_: int) -> Standing:
    return Standing(id_, 3, smaller_is_better=True, best_trial_id=id_ or None, best_metric=0.5 if id_ % 2 else None)


def random_reports(chance: Random) -> Sequence[MetricRow]:
    values = (10.0, 9.0, 0.5, -1.0)
    return [
        MetricRow(run, 1, group, steps, {"loss": chance.choice(values), **_odd(chance)}, None, AT)
        for run in range(1, RUNS + 1)
        for group in ("training", "validation", "own.group")
        if chance.random() < 0.6
        for steps in (100, 200)
    ]


def _odd(chance: Random) -> Mapping[str, Any]:
    return chance.choice(({}, {"note": chance.choice(("Good", "bad", ""))}, {"nan": float("nan")}, {"top.5": 0.75}))


def summaries(reports: Sequence[MetricRow]) -> Mapping[int, Mapping[tuple[str, str], Summary]]:
    found: dict[int, dict[tuple[str, str], list[Any]]] = {}
    for row in reports:
        for name, value in row.metrics.items():
            if value == value:  # NaN is no number that counts
                found.setdefault(row.trial_id, {}).setdefault((row.kind, name), []).append(value)
    return {run: {named: _summary(values) for named, values in of_it.items()} for run, of_it in found.items()}


def _summary(values: Sequence[Any]) -> Summary:
    if isinstance(values[0], str):
        return Summary(last_text=values[-1])
    return Summary(min(values), max(values), sum(values) / len(values), values[-1])


# ---------------------------------------------------------------- filters drawn by chance

ANY_VALUES = (
    *(0, 0.25, 0.5, 3, 9, 10, "0.5", -1, True, False, None, "", "adam", "digit", "A", "a%b", "_", "STATE_PAUSED"),
    *("ACTIVE", "ERROR", "Good", "ood", "x", "auto", "2026-01-31T12:00:00Z", "2026-01-31", "2026-03-01"),
)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "contains", "notContains", "isEmpty", "notEmpty")
TYPES = ("COLUMN_TYPE_TEXT", "COLUMN_TYPE_NUMBER", "COLUMN_TYPE_DATE", "COLUMN_TYPE_UNSPECIFIED")
OPEN_COLUMNS = (
    *("hp.lr", "hp.optimizer.name", "hp.flag", "hp.layers.0", "hp.layers", "hp.none"),
    *("validation.loss.last", "validation.loss.min", "training.loss.max", "training.loss.mean"),
    *("validation.note.last", "training.top.5.mean", "validation.none.last"),
)
OF_METADATA = ("metadata.note", "metadata.seen", "metadata.score", "metadata.nested.tag", "metadata.none")


def random_filter(chance: Random, columns: Sequence[str], depth: int = 0) -> Mapping[str, Any]:
    if depth and (depth > 2 or chance.random() < 0.6):
        return {
            "kind": "field",
            "columnName": chance.choice(columns),
            "location": "LOCATION_TYPE_RUN",
            "type": chance.choice(TYPES),
            "operator": chance.choice(OPERATORS),
            "value": chance.choice(ANY_VALUES),
        }
    children = [random_filter(chance, columns, depth + 1) for _ in range(chance.randint(0, 3))]
    return {"kind": "group", "conjunction": chance.choice(("and", "or")), "children": children}


def random_searches(chance: Random, columns: Columns, open_columns: Sequence[str], count: int) -> Iterator[Search]:
    """Those that are accepted: what is refused is refused before any query."""
    names = [*columns, *open_columns]
    while count:
        asked = {"showArchived": chance.random() < 0.5, "filterGroup": random_filter(chance, names)}
        by = ",".join(
            f"{name}={chance.choice(('asc', 'desc'))}"
            for name in chance.sample(names, chance.randint(0, 2))
            if name not in UNSORTABLE
        )
        try:
            wanted = parse_filter(json.dumps(asked), columns)
        except Exception:  # noqa: BLE001, S112  (`test_filters.py` says which)
            continue
        yield Search(wanted, parse_sort(by, columns, UNSORTABLE), chance.choice((0, 0, 1)))
        count -= 1


async def _report(pool: asyncpg.Pool, reports: Sequence[MetricRow]) -> None:
    await MetricStore(pool).add(reports)
    while await count_new(pool):
        pass


@pytest.fixture
async def both(postgres_dsn: str) -> AsyncIterator[tuple[MemoryRuns, PostgresRuns]]:
    chance = Random(7)
    rows, reports = random_rows(chance), random_reports(chance)
    async with asyncpg.create_pool(postgres_dsn, min_size=1, max_size=2) as pool:
        await _report(pool, reports)
        yield MemoryRuns(in_memory(rows), summaries(reports)), PostgresRuns(await in_postgres(pool, rows))


async def test_postgres_and_the_twin_find_the_same_runs_in_the_same_order(
    both: tuple[MemoryRuns, PostgresRuns],
) -> None:
    await _agree(both, RUN_COLUMNS, (*OPEN_COLUMNS, *OF_METADATA), "runs")


async def test_postgres_and_the_twin_find_the_same_searches_in_the_same_order(
    both: tuple[MemoryRuns, PostgresRuns],
) -> None:
    await _agree(both, SEARCH_COLUMNS, OPEN_COLUMNS, "searches")


async def test_a_page_along_the_index_of_a_metric_is_the_page_of_the_sorted_list(
    both: tuple[MemoryRuns, PostgresRuns], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "FEW", 0)
    memory, postgres = both
    for direction in ("asc", "desc"):
        search = Search(orders=parse_sort(f"validation.loss.min={direction}", RUN_COLUMNS, UNSORTABLE))
        for offset in range(0, RUNS + 5, 7):
            window = Window(offset, 10)
            expected, found = (
                await memory.runs(UNLIMITED, search, window),
                await postgres.runs(UNLIMITED, search, window),
            )
            assert [row.id for row in found.rows] == [row.id for row in expected.rows], (direction, offset)
            assert found.page == expected.page


async def _agree(
    both: tuple[MemoryRuns, PostgresRuns], columns: Columns, open_columns: Sequence[str], what: str
) -> None:
    found_some = 0
    for search in random_searches(Random(11), columns, open_columns, 250):
        expected, found = [await _ids(one, what, search) for one in both]
        assert found == expected, search
        found_some += 0 < len(found) < RUNS
    assert found_some > 20, "most of what is asked for should tell rows apart"


async def _ids(queries: RunQueries, what: str, search: Search) -> list[int]:
    asked = queries.runs if what == "runs" else queries.searches
    found = await asked(UNLIMITED, search, Window(limit=-1))
    return [row.id for row in found.rows]


# ---------------------------------------------------------------- what else is asked


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[RunQueries]:
    chance = Random(7)
    rows, reports = random_rows(chance), random_reports(chance)
    if database is None:
        yield MemoryRuns(in_memory(rows), summaries(reports))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        await _report(pool, reports)
        yield PostgresRuns(await in_postgres(pool, rows))


async def test_what_lies_outside_of_the_scope_is_not_found(queries: RunQueries) -> None:
    own, everything = Scope(frozenset({1})), Window(limit=-1)
    assert {row.workspace_id for row in (await queries.runs(own, Search(), everything)).rows} == {1}
    runs = set(await queries.run_ids(own, Search()))
    assert 0 < len(runs) < RUNS
    assert {row.id for row in await queries.runs_of(own, range(1, RUNS + 1))} == runs
    assert len((await queries.searches(own, Search(), everything)).rows) < SEARCHES
    nowhere = Scope(frozenset({99}))
    assert (await queries.runs(nowhere, Search(), everything)).page.total == 0
    for answer in (
        await queries.metric_names(nowhere, 1),
        await queries.hyperparameters(nowhere, 1),
        await queries.metadata(nowhere, 1),
        await queries.ranges(nowhere, 1),
        await queries.metadata_values(nowhere, 1, ["note"]),
    ):
        assert list(answer) == []
    assert await queries.best_range(nowhere, 1) is None


async def test_the_columns_of_a_project_are_those_that_its_runs_have(queries: RunQueries) -> None:
    names = {f"{one.group} {one.name}": one.kind for one in await queries.metric_names(UNLIMITED, 1)}
    assert names["validation loss"] == names["training top.5"] == Kind.NUMBER
    assert names["validation note"] == Kind.TEXT
    assert "validation nan" not in names
    assert {"note": "Digits", "seen": "2026-01-31", "score": 3} in await queries.metadata(UNLIMITED, 1)
    assert SPACES[0] in await queries.hyperparameters(UNLIMITED, 1)
    assert await queries.metadata_values(UNLIMITED, 1, ["nested", "tag"]) == ["x", "y"]
    ranges = {(one.group, one.name, one.statistic): one for one in await queries.ranges(UNLIMITED, 1)}
    assert ranges["validation", "loss", "min"].least <= ranges["validation", "loss", "max"].most
    assert await queries.best_range(UNLIMITED, 1) == (0.5, 0.5)


async def test_a_run_is_shown_with_its_search_and_what_it_reported(queries: RunQueries) -> None:
    rows = (await queries.runs(UNLIMITED, Search(), Window(limit=-1))).rows
    row = next(one for one in rows if "validation_metrics" in one.metrics and one.project_id == 1)
    assert (row.project, row.workspace) == ("digits", "one")
    assert row.trials == 3
    assert row.metrics["validation_metrics"]["loss"]["type"] == "number"
    assert row.metrics["validation_metrics"]["loss"]["min"] <= row.metrics["validation_metrics"]["loss"]["max"]
