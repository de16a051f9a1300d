"""Who brings the ranks' tensors together: what the launcher's environment chooses, and what is refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from determined import core, errors, pytorch
from determined.pytorch import _backend

RANK = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
LAUNCHED_BY_TORCH = {"USE_TORCH_DISTRIBUTED": "True", **RANK, "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1"}


@pytest.fixture(autouse=True)
def _started_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USE_HOROVOD", "USE_TORCH_DISTRIBUTED", "USE_DEEPSPEED", "HOROVOD_RANK"):
        monkeypatch.delenv(name, raising=False)


def test_who_was_started_by_no_launcher_is_alone_and_imports_no_horovod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "horovod", None)
    assert _backend.from_environment() is None
    assert type(_backend.join(core.DummyDistributedContext())) is _backend.Backend


def test_torchs_launcher_is_found_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LAUNCHED_BY_TORCH.items():
        monkeypatch.setenv(name, value)
    distributed = _backend.from_environment()
    assert distributed is not None
    assert (distributed.rank, distributed.size) == (0, 1)


def test_a_horovod_launcher_without_horovod_is_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_HOROVOD", "1")
    monkeypatch.setitem(sys.modules, "horovod.torch", None)
    with pytest.raises(errors.InvalidExperimentException, match=r"Horovod for PyTorch cannot be imported.*image"):
        _backend.from_environment()


def test_deepspeeds_launcher_does_not_train_a_trial_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_DEEPSPEED", "1")
    with pytest.raises(errors.InvalidExperimentException, match="Core API"):
        _backend.from_environment()


class FakeHorovod:
    """Of two ranks, of which nobody else is there."""

    class Compression:
        none, fp16 = "none", "fp16"

    def DistributedOptimizer(self, optimizer: Any, **arguments: Any) -> Any:
        self.arguments = arguments
        wrapped = torch.optim.SGD(optimizer.param_groups, lr=1)
        wrapped.synchronize = lambda: None  # type: ignore[attr-defined]
        return wrapped


def wrapped(exp_conf: dict[str, Any], **how: Any) -> tuple[Any, Any, Any, FakeHorovod]:
    """A context of Horovod with one optimizer: the context, the optimizer given and returned, and Horovod."""
    horovod = FakeHorovod()
    context = pytorch.CheckpointLoadContext(exp_conf=exp_conf)
    context._aggregation_frequency = 2
    context._backend = _backend.HorovodBackend(context.distributed, horovod)
    model = context.wrap_model(torch.nn.Linear(2, 1))
    given = torch.optim.SGD([*model.parameters(), torch.nn.Parameter(torch.zeros(1))], lr=1)
    return context, given, context.wrap_optimizer(given, **how), horovod


def test_horovod_hears_of_passes_compression_and_a_name_for_every_parameter() -> None:
    *_, horovod = wrapped({"optimizations": {"gradient_compression": True}}, backward_passes_per_step=3)
    assert horovod.arguments["backward_passes_per_step"] == 6
    assert horovod.arguments["compression"] == "fp16"
    names = [name for name, _ in horovod.arguments["named_parameters"]]
    assert names == ["optimizer0.0.0.weight", "optimizer0.1.0.bias", "optimizer0.2."]
    *_, horovod = wrapped({"optimizations": {"gradient_compression": True}}, fp16_compression=False)
    assert horovod.arguments["compression"] == "none"


def test_an_optimizer_that_does_not_know_of_the_others_is_refused() -> None:
    context, given, _, _ = wrapped({})
    context._current_batch_idx = 1
    with pytest.raises(errors.InvalidExperimentException, match="the one that wrap_optimizer\\(\\) returned"):
        context.step_optimizer(given)


class Other(core.DummyDistributedContext):
    """A rank to which the chief said `told`."""

    def __init__(self, told: Any) -> None:
        super().__init__()
        self.told = told

    def broadcast(self, stuff: Any) -> Any:
        return self.told


def stepped(parameters: int) -> torch.optim.Optimizer:
    weight = torch.nn.Parameter(torch.ones(parameters))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    torch.autograd.backward(weight.sum())
    optimizer.step()
    return optimizer


def test_settings_and_state_are_the_chiefs() -> None:
    optimizer = stepped(2)
    shared: list[Any] = []
    settings = [{"lr": 0.1, "momentum": 0.9}]
    _backend.align(optimizer, Other(([((2,), "torch.float32")], settings)), shared.append)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert [tensor.tolist() for tensor in shared] == [[1, 1]]


def test_a_rank_that_optimizes_something_else_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"ranks \[0\] hold optimizer states of other shapes"):
        _backend.align(stepped(3), Other(([((2,), "torch.float32")], [])), lambda tensor: None)


def test_apex_is_refused_with_what_does_the_same() -> None:
    with pytest.raises(errors.InvalidExperimentException, match="use_amp"):
        pytorch.CheckpointLoadContext().configure_apex_amp(None, None)
