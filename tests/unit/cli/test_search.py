"""`resolute search simulate`: no cluster, a table, a curve, a picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from resolute.cli import plot
from resolute.cli.errors import CliError
from resolute.cli.main import resolute

CONFIG = """
searcher: {name: adaptive_asha, metric: loss, max_trials: 16, max_length: {batches: 64}}
hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "asha.yaml").write_text(CONFIG)
    return str(tmp_path / "asha.yaml")


def test_people_get_rungs_the_work_saved_and_a_curve(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolute(["search", "simulate", config, "--seeds", "2", "--slots", "4"]) == 0
    out = capsys.readouterr().out
    assert "adaptive_asha: 16 trials of up to 64 batches, on 4 slots" in out
    assert "Trained to (batches)" in out
    assert "saved against training all to the end" in out
    assert "by random search with the same work" in out
    assert "● adaptive_asha   ○ random search" in out


def test_programs_get_every_trial(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolute(["search", "simulate", config, "--seeds", "2", "--seed", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["seed"] for one in told] == [5, 6]
    assert all(len(one["trials"]) == 16 for one in told)
    assert all(one["work"] == sum(trial["length"] for trial in one["trials"]) for one in told)


def test_a_field_can_be_changed_for_the_play(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolute(["search", "simulate", config, "--seeds", "1", "--config", "searcher.max_trials=3"]) == 0
    assert "adaptive_asha: 3 trials" in capsys.readouterr().out


def test_the_curves_can_be_had_as_a_picture(config: str, tmp_path: Path) -> None:
    picture = tmp_path / "curves.png"
    assert resolute(["search", "simulate", config, "--seeds", "1", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--seeds", "0"], "--seeds 1 or more; found 0"),
        (["--config", "searcher.max_trials=-1"], "searcher.max_trials"),
        (["--plot", "/nowhere/curves.png", "--seeds", "1"], "/nowhere/curves.png"),
    ],
)
def test_what_cannot_be_simulated_says_why(
    config: str, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert resolute(["search", "simulate", config, *words]) == 1
    assert why in capsys.readouterr().err


def test_a_custom_search_is_its_clients_business(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "custom.yaml").write_text("searcher: {name: custom, metric: loss}")
    assert resolute(["search", "simulate", str(tmp_path / "custom.yaml")]) == 1
    assert "only its client knows" in capsys.readouterr().err


def test_a_curve_is_drawn_from_its_highest_to_its_lowest_point() -> None:
    lines = plot.in_text({"one": [(1, 4.0), (10, 1.0)]}, "things")
    assert lines[0].split("│")[0].strip() == "4"
    assert lines[plot.HEIGHT - 1].endswith("●")
    assert lines[plot.HEIGHT - 1].split("│")[0].strip() == "1"
    assert "10 things" in lines[-2]
    assert plot.in_text({"none": []}, "things") == []


def test_a_picture_without_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CliError, match=r"pip install 'resolute\[plots\]'"):
        plot.as_png(tmp_path / "x.png", {}, "", "", "")
