"""Lengths, counted in batches when the batch and the epoch are known."""

from __future__ import annotations

import pytest

from resolute.config import Length


@pytest.mark.parametrize(
    ("length", "batches"),
    [
        (Length("batches", 200), 200),
        (Length("records", 1000), 15),
        (Length("records", 10), 1),
        (Length("epochs", 2), 31),
        (Length("epochs", 0), 0),
    ],
)
def test_a_length_in_batches_rounds_down_but_never_to_nothing(length: Length, batches: int) -> None:
    assert length.to_batches(global_batch_size=64, records_per_epoch=1000) == batches


def test_a_length_that_cannot_be_converted_names_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"hyperparameters\.global_batch_size"):
        Length("records", 5).to_batches()
    with pytest.raises(ValueError, match="records_per_epoch"):
        Length("epochs", 5).to_batches(global_batch_size=64)
