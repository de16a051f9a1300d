"""`det dev bindings`: operations are called by the names and parameters of the master's document."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from resolute.api.openapi import document
from resolute.api.slices import SLICES
from tests.unit.cli.conftest import FakeMaster, results

Det = Callable[..., Any]


@pytest.fixture
def described(master: FakeMaster) -> FakeMaster:
    """A master that describes the operations of the gateway."""
    master.on("GET /api/v1/api.swagger.json", document(route for each in SLICES for route in each.routes))
    return master


@pytest.mark.parametrize("words", ["dev bindings", "dev b ls"])
def test_operations_are_listed_with_their_parameters(described: FakeMaster, det: Det, words: str) -> None:
    listed = det(words).out.splitlines()
    assert "get_GetTrial(trialId)" in listed
    assert not [each for each in listed if "_Info(" in each]
    assert "get_Info()" in det("dev bindings list --show-unusable").out.splitlines()


@pytest.mark.parametrize("name", ["get_GetTrial", "GetTrial"])
def test_an_operation_is_called_by_its_name(described: FakeMaster, det: Det, name: str) -> None:
    described.on("GET /api/v1/trials/3", {"trial": {"id": 3}})
    assert json.loads(det(f"dev bindings call {name} trialId=3").out) == {"trial": {"id": 3}}


def test_parameters_of_the_query_may_be_lists(described: FakeMaster, det: Det) -> None:
    described.on("GET /api/v1/experiments", {"experiments": []})
    assert det("dev b c GetExperiments limit=2 labels=a labels=b").status == 0
    assert described.last("GET /api/v1/experiments").query == (("limit", "2"), ("labels", "a"), ("labels", "b"))


def test_what_may_change_something_needs_a_yes(described: FakeMaster, det: Det) -> None:
    described.on("POST /api/v1/trials/3/kill", {})
    assert "--yes" in det("dev b c KillTrial id=3").err
    assert det("dev b c -y KillTrial id=3").status == 0
    assert described.last("POST /api/v1/trials/3/kill").body == {}


def test_a_body_is_given_as_json(described: FakeMaster, det: Det) -> None:
    described.on("POST /api/v1/experiments/7/move", {})
    assert det("""dev b c -y MoveExperiment experimentId=7 body={"destinationProjectId":9}""").status == 0
    assert described.last("POST /api/v1/experiments/7/move").body == {"destinationProjectId": 9}


def test_the_messages_of_a_stream_are_lines(described: FakeMaster, det: Det) -> None:
    described.on("GET /api/v1/master/logs", lambda _: results({"id": 1}, {"id": 2}))
    assert det("dev b c MasterLogs").out.splitlines() == ['{"id": 1}', '{"id": 2}']


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Nothing", "no operation 'Nothing'"),
        ("GetTrial", "needs trialId=VALUE"),
        ("GetTrial 3", "give arguments as name=value"),
        ("GetTrial trial=3", "is no argument of get_GetTrial(trialId)"),
        ("Info", "det dev curl /info"),
        ("-y Login body={", "body is no JSON"),
    ],
)
def test_a_call_that_cannot_be_sent_says_why(described: FakeMaster, det: Det, words: str, said: str) -> None:
    outcome = det(f"dev bindings call {words}")
    assert outcome.status == 1
    assert said in outcome.err
