"""Sealed values open under their own key, in their own place, and nowhere else."""

from __future__ import annotations

import pytest

from resolute.service.sealing import Box, CannotOpen, DataKey, boxed, key_of, seal, unseal


@pytest.mark.parametrize("value", ["hunter2", "", 7, {"a": [1, None]}, "ünïcode", "sealed:v1:looks:like-one"])
def test_a_sealed_value_opens_as_it_was(value: object) -> None:
    key = DataKey.fresh()
    sealed = seal(key, "data.secrets.k", value)
    assert key_of(sealed) == key.id
    assert unseal(key, "data.secrets.k", sealed) == value
    assert "hunter2" not in sealed
    assert sealed != seal(key, "data.secrets.k", value), "equal secrets do not look equal"


def test_it_opens_nowhere_else() -> None:
    key, other = DataKey.fresh(), DataKey.fresh()
    sealed = seal(key, "data.secrets.k", "hunter2")
    for wrong_key, place, value in (
        (key, "data.secrets.l", sealed),
        (other, "data.secrets.k", sealed),
        (DataKey(key.id, other.secret), "data.secrets.k", sealed),
        (other, "data.secrets.k", sealed.replace(key.id, other.id)),
        (key, "data.secrets.k", sealed[:-2] + ("AA" if sealed[-2:] != "AA" else "BB")),
        (key, "data.secrets.k", "hunter2"),
    ):
        with pytest.raises(CannotOpen):
            unseal(wrong_key, place, value)


def test_a_box_opens_for_the_agent_that_asked_and_for_what_it_asked() -> None:
    agent, another = Box(), Box()
    sender, box = boxed(agent.public, {"sealed": "hunter2"}, "token-1")
    assert agent.opened(sender, box, "token-1") == {"sealed": "hunter2"}
    for opener, about in ((another, "token-1"), (agent, "token-2")):
        with pytest.raises(CannotOpen):
            opener.opened(sender, box, about)
    with pytest.raises(CannotOpen):
        boxed("no key", {}, "token-1")


def test_text_that_is_not_sealed_has_no_key() -> None:
    assert [key_of(value) for value in ("hunter2", 7, None, "sealed:v1:short:x", "sealed:v1:")] == [None] * 5
