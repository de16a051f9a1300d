"""Event files that TensorBoard's own reader reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from determined import core
from determined.tensorboard import BatchMetricWriter, EventFileWriter
from determined.tensorboard._crc32c import crc32c
from determined.tensorboard._event import _varint
from tests.unit.harness.conftest import Master

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = accumulator.EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_what_was_written_is_what_tensorboard_reads(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path)
    for step in (0, 1, 127, 128, 1 << 40):
        writer.add_scalars(step, {"loss": step / 3, "größe": -1.5})
    writer.close()
    found = read(tmp_path)
    assert [step for step, _ in found["loss"]] == [0, 1, 127, 128, 1 << 40]
    assert [value for _, value in found["loss"]] == pytest.approx([0, 1 / 3, 127 / 3, 128 / 3, (1 << 40) / 3])
    assert found["größe"][0] == (0, -1.5)


def test_odd_numbers_do_not_break_the_file(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path)
    writer.add_scalars(1, {"huge": 1e300, "nan": math.nan})
    writer.close()
    found = read(tmp_path)
    assert found["huge"] == [(1, math.inf)]
    assert math.isnan(found["nan"][0][1])


def test_the_check_value_of_castagnoli() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@given(st.integers(0, (1 << 63) - 1))
def test_numbers_of_variable_length_decode_to_themselves(value: int) -> None:
    encoded = _varint(value)
    assert sum((byte & 0x7F) << 7 * position for position, byte in enumerate(encoded)) == value
    assert all(byte & 0x80 for byte in encoded[:-1])
    assert not encoded[-1] & 0x80


def test_only_numbers_get_a_curve(tmp_path: Path) -> None:
    writer = BatchMetricWriter(EventFileWriter(tmp_path))
    writer.on_report("training", 1, {"loss": torch.tensor(0.5), "text": "x", "list": [1], "flag": True})
    writer.on_report("validation", 1, {"loss": 0.25, "validation_loss": 2})
    writer.on_report("inference", 1, {"speed": 3})
    writer.close()
    assert read(tmp_path) == {
        "loss": [(1, 0.5)],
        "val_loss": [(1, 0.25)],
        "validation_loss": [(1, 2.0)],
        "inference/speed": [(1, 3.0)],
    }


def test_a_trials_events_are_kept_beside_its_checkpoints(on_cluster: Callable[..., Master], tmp_path: Path) -> None:
    on_cluster()
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_validation_metrics(1, {"accuracy": 0.75})
        (context.train.get_tensorboard_path() / "notes.txt").write_text("not an event file")
    kept = tmp_path / "storage" / "cluster-1" / "tensorboard" / "experiment" / "7" / "trial" / "41"
    assert read(kept) == {"loss": [(1, 0.5)], "val_accuracy": [(1, 0.75)]}
    assert [path.name for path in kept.iterdir() if "tfevents" not in path.name] == []


def test_in_manual_mode_only_what_is_asked_for_is_kept(on_cluster: Callable[..., Master], tmp_path: Path) -> None:
    on_cluster()
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        (context.train.get_tensorboard_path() / "mine.txt").write_text("x")
        context.train.upload_tensorboard_files(mangler=lambda path, rank: path.with_suffix(f".{rank}"))
    kept = tmp_path / "storage" / "cluster-1" / "tensorboard" / "experiment" / "7" / "trial" / "41"
    assert [path.name for path in kept.iterdir()] == ["mine.0"]
