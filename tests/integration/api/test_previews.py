"""Asking what a search would do, over REST: the searcher plays it, and nothing is written."""

from __future__ import annotations

from typing import Any

from tests.integration.api.running import running

SPACE = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}}


def config(**searcher: Any) -> dict[str, Any]:
    return {"searcher": {"metric": "loss", **searcher}, "hyperparameters": SPACE}


async def test_a_preview_tells_how_many_trials_train_how_far(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        asha = config(name="adaptive_asha", max_trials=64, max_length={"batches": 256})
        told = await someone.post("/api/v1/preview-hp-search", {"config": asha, "seed": 3})
        summary = told["summary"]
        assert summary["config"]["name"] == "adaptive_asha"
        assert sum(one["count"] for one in summary["trials"]) == 64
        *shorter, longest = (one["unit"] for one in summary["trials"])
        assert longest["maxLength"]
        assert [(unit["name"], unit["value"]) for unit in shorter] == [("batches", n) for n in (4, 16, 64)][
            : len(shorter)
        ]
        assert (await someone.post("/api/v1/preview-hp-search", {"config": asha, "seed": 3})) == told
        assert (await someone.get("/api/v1/experiments"))["experiments"] == []


async def test_what_cannot_be_previewed_is_refused_by_field(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        refusals = [
            ({}, "config.searcher: missing"),
            (config(name="adaptive_ahsa", max_trials=4, max_length={"batches": 8}), "searcher.name"),
            (config(name="random", max_trials=20_000, max_length={"batches": 8}), "searcher.max_trials: 20,000"),
        ]
        for given, why in refusals:
            answer = await someone.call("POST", "/api/v1/preview-hp-search", {"config": given})
            assert answer.status == 400
            assert why in answer.body["error"]["error"], answer.body
