"""The read model's statements: few where they may run together, and never in an order that matters."""

from __future__ import annotations

import json

import hypothesis
import orjson
import pytest
from hypothesis import strategies as st

from resolute.api.projections.batches import groups
from resolute.api.projections.statement import Statement, derived, statement, update
from resolute.api.views.shown import SET, shown_config
from resolute.config import ClusterDefaults, load_yaml, parse_experiment

ROWS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True).map(tuple)
SCRIPTS = st.lists(st.tuples(st.sampled_from(["X", "Y", "Z"]), ROWS), max_size=30).map(
    lambda script: [Statement(sql, (place,), touches) for place, (sql, touches) in enumerate(script)]
)


@hypothesis.given(SCRIPTS)
def test_statements_that_touch_a_row_keep_their_order_on_it(script: list[Statement]) -> None:
    ran = [arguments[0] for _, runs in groups(script) for arguments in runs]
    assert sorted(ran) == list(range(len(script))), "each runs once"
    for row in "abc":
        expected = [place for place, one in enumerate(script) if row in one.touches or not one.touches]
        assert [place for place in ran if place in set(expected)] == expected


@hypothesis.given(SCRIPTS)
def test_what_concerns_everything_keeps_its_place(script: list[Statement]) -> None:
    ran = [arguments[0] for _, runs in groups(script) for arguments in runs]
    for place, one in enumerate(script):
        if not one.touches:
            assert set(ran[: ran.index(place)]) == set(range(place))


def test_the_same_change_of_many_rows_is_one_journey() -> None:
    script = [statement(sql, row, touches=(row,)) for row in ("a", "b", "c") for sql in ("insert", "update")]
    assert list(groups(script)) == [("insert", [("a",), ("b",), ("c",)]), ("update", [("a",), ("b",), ("c",)])]


def test_of_changes_that_overwrite_one_another_the_last_counts() -> None:
    script = [update("trials", "id", 1 + n % 2, state=state) for n, state in enumerate("abcdef")]
    assert [runs for _, runs in groups(script)] == [[(1, "e"), (2, "f")]]


def test_a_change_of_the_same_row_in_between_keeps_them_apart() -> None:
    script = [
        update("trials", "id", 1, state="a"),
        update("trials", "id", 1, run_id=2),
        update("trials", "id", 1, state="b"),
    ]
    assert [runs for _, runs in groups(script)] == [[(1, "a")], [(1, 2)], [(1, "b")]]


def test_what_follows_from_other_rows_is_worked_out_once_after_them_and_before_what_concerns_everything() -> None:
    best, report = derived("best", 1), statement("report", 1, 10, touches=("trial 1",))
    assert list(groups([report, best, report, best])) == [("report", [(1, 10), (1, 10)]), ("best", [(1,)])]
    assert [sql for sql, _ in groups([report, best, statement("forget", 1), report])] == [
        "report",
        "best",
        "forget",
        "report",
    ]


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        ('{"checkpoint_storage": {"type": "s3", "secret_key": "k"}}', "********"),
        ('{"checkpoint_storage": {"type": "s3", "secret_key": null}}', None),
    ],
)
def test_a_configuration_is_shown_without_its_secrets(document: str, shown: str | None) -> None:
    config = orjson.loads(orjson.dumps(shown_config(document)))
    assert config["checkpoint_storage"] == {"type": "s3", "secret_key": shown}


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_configuration_without_secrets_is_not_read_to_be_shown(separators: tuple[str, str]) -> None:
    raw = load_yaml("{entrypoint: train, searcher: {name: single, metric: loss, max_length: {batches: 1}}}")
    storage = {"type": "shared_fs", "host_path": "/tmp"}
    complete = parse_experiment(raw, ClusterDefaults(checkpoint_storage=storage, created_at_s=7)).merged
    assert SET.search(json.dumps(complete, separators=separators)) is None
    complete["environment"]["registry_auth"] = {"username": "me", "password": "hunter2"}
    assert SET.search(json.dumps(complete, separators=separators)) is not None
