"""What the gateway is told when it starts, and what it does not take."""

from __future__ import annotations

import pytest

from resolute.api.settings import load
from resolute.proto.errors import InvalidConfig


def test_a_default_pool_that_is_no_pool_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql://nowhere")
    monkeypatch.setenv("RESOLUTE_API_POOLS", '["gpu", "cpu"]')
    with pytest.raises(InvalidConfig, match=r"api.default_pool: .*one of the pools \(gpu, cpu\); found 'default'"):
        load()
    monkeypatch.setenv("RESOLUTE_API_DEFAULT_POOL", "cpu")
    assert load().pools == ("gpu", "cpu")
