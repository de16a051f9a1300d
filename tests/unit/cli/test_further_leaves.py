"""Moving experiments, removing checkpoints, support bundles, and the words for developers."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.unit.cli.conftest import FakeMaster, results

Det = Callable[..., Any]


@pytest.fixture
def places(master: FakeMaster) -> FakeMaster:
    """A master with the workspace `vision` and its project `Digits`."""
    master.on("GET /api/v1/workspaces", {"workspaces": [{"id": 4, "name": "vision"}]})
    master.on("GET /api/v1/workspaces/4/projects", {"projects": [{"id": 9, "name": "Digits"}]})
    master.on("POST /api/v1/experiments/7/move", {})
    return master


def test_an_experiment_moves_to_a_project_that_is_named(places: FakeMaster, det: Det) -> None:
    assert det("e move 7 vision digits").out == "Moved experiment 7 to project 'Digits'\n"
    assert places.last("POST /api/v1/experiments/7/move").body == {"experimentId": 7, "destinationProjectId": 9}


@pytest.mark.parametrize(("words", "said"), [("Vision digits", "no workspace named"), ("vision cats", "no project")])
def test_an_unknown_place_is_named_and_nothing_moves(places: FakeMaster, det: Det, words: str, said: str) -> None:
    outcome = det(f"e move 7 {words}")
    assert outcome.status == 1
    assert said in outcome.err
    assert not [each for each in places.asked if each.path.endswith("/move")]


def test_checkpoints_are_removed_whole_or_by_pattern_after_a_yes(master: FakeMaster, det: Det) -> None:
    master.on("DELETE /api/v1/checkpoints", {})
    master.on("POST /api/v1/checkpoints/rm", {})
    assert det("c delete u-1,u-2 --yes").status == 0
    assert master.last("DELETE /api/v1/checkpoints").body == {"checkpointUuids": ["u-1", "u-2"]}
    assert det("c rm u-1 --glob *.pt --glob code/** --yes").status == 0
    body = {"checkpointUuids": ["u-1"], "checkpointGlobs": ["*.pt", "code/**"]}
    assert master.last("POST /api/v1/checkpoints/rm").body == body
    assert "--yes" in det("c delete u-3").err
    assert len([each for each in master.asked if each.method == "DELETE"]) == 1


def test_the_best_checkpoints_of_an_experiment_are_asked_for_in_order(master: FakeMaster, det: Det) -> None:
    master.on("GET /api/v1/experiments/7/checkpoints", {"checkpoints": []})
    assert "has no complete checkpoint" in det("e download 7 --sort-by loss --smaller-is-better true").err
    query = dict(master.last("GET /api/v1/experiments/7/checkpoints").query)
    assert (query["sortByMetric"], query["orderBy"]) == ("loss", "ORDER_BY_ASC")
    assert "go together" in det("e download 7 --sort-by loss").err


def test_a_support_bundle_holds_both_logs_and_both_descriptions(master: FakeMaster, det: Det, tmp_path: Path) -> None:
    master.on("GET /api/v1/trials/3", {"trial": {"id": 3, "experimentId": 7}})
    master.on("GET /api/v1/experiments/7", {"experiment": {"id": 7}})
    master.on("GET /api/v1/trials/3/logs", lambda _: results({"message": "step 1\n"}))
    entry = {"timestamp": "2026-01-31T12:00:00Z", "level": "LOG_LEVEL_INFO", "message": "started"}
    master.on("GET /api/v1/master/logs", lambda _: results({"logEntry": entry}))
    place = Path(det(f"t support-bundle 3 -o {tmp_path}").out.split(": ")[1].strip())
    with tarfile.open(place) as archive:
        files = {Path(each.name).name: archive.extractfile(each) for each in archive}
        held = {name: file.read().decode() for name, file in files.items() if file}
    assert held["trial_logs.txt"] == "step 1\n"
    assert held["master_logs.txt"] == "2026-01-31T12:00:00Z [INFO]: started\n"
    assert json.loads(held["api_trial_call.json"])["trial"]["id"] == 3
    assert json.loads(held["api_experiment_call.json"])["experiment"]["id"] == 7


def test_a_developer_gets_the_token(master: FakeMaster, det: Det) -> None:
    assert det("dev auth-token").out == "token-of-determined\n"


def test_curl_is_logged_in_and_its_token_is_not_among_its_arguments(
    master: FakeMaster, det: Det, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curl, noted = tmp_path / "curl", tmp_path / "noted"
    curl.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {noted}\ncat "${{4#@}}" >> {noted}\nexit 22\n')
    curl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    outcome = det("dev curl -x api/v1/me -v")
    assert outcome.status == 22
    *arguments, header = noted.read_text().splitlines()
    assert arguments[-2:] == [f"{master.url}/api/v1/me", "-v"]
    assert header == "Authorization: Bearer token-of-determined"
    assert not any("token-of" in each for each in [*arguments, outcome.err])


def test_a_missing_master_log_leaves_no_bundle_that_looks_whole(master: FakeMaster, det: Det, tmp_path: Path) -> None:
    master.on("GET /api/v1/trials/3", {"trial": {"id": 3, "experimentId": 7}})
    master.on("GET /api/v1/experiments/7", {"experiment": {"id": 7}})
    master.on("GET /api/v1/trials/3/logs", lambda _: results({"message": "step 1"}))
    master.on("GET /api/v1/master/logs", lambda _: web.json_response({"error": {"error": "forbidden"}}, status=403))
    assert det(f"t support-bundle 3 -o {tmp_path / 'out'}").status == 1
    assert list((tmp_path / "out").glob("*")) == []


def test_the_tensorboard_files_of_an_experiment_are_deleted(master: FakeMaster, det: Det) -> None:
    master.on("DELETE /api/v1/experiments/7/tensorboard-files", {})
    assert det("e delete-tb-files 7").out == "Deleted the TensorBoard files of experiment 7\n"
