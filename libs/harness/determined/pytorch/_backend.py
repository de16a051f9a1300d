"""The collective work of a trial's ranks on tensors: one small interface, with torch.distributed or Horovod behind it.

The launcher's environment variables say which one to use. Horovod is imported only when its launcher started the trial.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch

from determined import core, errors

Named = Sequence[tuple[str, torch.Tensor]]
Truth = frozenset({"1", "true", "yes"})


class Backend:
    """The back end of a single process. Those for several processes override the methods."""

    def __init__(self, distributed: core.DistributedContext) -> None:
        self._distributed = distributed

    def wrap_model(self, model: torch.nn.Module, device: torch.device, *, compress: bool) -> torch.nn.Module:
        """The model to train with. Its gradients may be averaged over the ranks during the backward pass."""
        return model

    def wrap_optimizer(
        self, optimizer: torch.optim.Optimizer, parameters: Named, passes: int, *, compress: bool
    ) -> torch.optim.Optimizer:
        """The optimizer to train with, stepped after `passes` backward passes."""
        return optimizer

    def adding_up(self, models: Sequence[torch.nn.Module]) -> AbstractContextManager[Any]:
        """Encloses a batch whose gradients are only accumulated: the ranks need not exchange them."""
        return contextlib.nullcontext()

    def bring_together(self, optimizer: torch.optim.Optimizer) -> None:
        """Called before gradients are clipped. Afterwards the gradients are the means over all ranks."""

    def stepping(self, optimizer: torch.optim.Optimizer) -> AbstractContextManager[Any]:
        """Encloses optimizer.step(), after `bring_together`."""
        return contextlib.nullcontext()

    def expect(self, optimizer: torch.optim.Optimizer, passes: int) -> None:
        """The next step comes after `passes` backward passes: a resumed run continues with accumulated gradients."""

    def begin(self, models: Sequence[torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer]) -> None:
        """Called once before training: every rank gets the models and optimizers of rank 0."""

    def share(self, tensor: torch.Tensor) -> None:
        """Rank 0's values, in place. Every rank calls it."""
        if tensor.numel():
            # As bytes: not every type of tensor can be broadcast.
            flat = tensor.detach().contiguous().view(-1)
            self._broadcast(flat.view(torch.uint8))
            tensor.detach().copy_(flat.view(tensor.shape))

    def _broadcast(self, data: torch.Tensor) -> None:
        """Rank 0's bytes on every rank."""

    def mean(self, tensor: torch.Tensor) -> torch.Tensor:
        """The mean over the ranks, a new tensor. Every rank calls it."""
        return tensor.clone()

    @contextlib.contextmanager
    def validating(self, models: Sequence[torch.nn.Module]) -> Iterator[None]:
        """Encloses a validation, in which the ranks may run their models different numbers of times.

        Running statistics and other buffers are those of rank 0 in it, as they are in a checkpoint.
        """
        if self._distributed.size > 1:
            for model in models:
                for buffer in model.buffers():
                    self.share(buffer)
        yield


class TorchBackend(Backend):
    """DistributedDataParallel, over the default process group."""

    def wrap_model(self, model: torch.nn.Module, device: torch.device, *, compress: bool) -> torch.nn.Module:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            return model
        devices = [device] if device.type == "cuda" else None
        parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=devices)
        if compress:
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

            parallel.register_comm_hook(None, fp16_compress_hook)
        return parallel

    def adding_up(self, models: Sequence[torch.nn.Module]) -> AbstractContextManager[Any]:
        stack = ExitStack()
        for model in _parallel(models):
            stack.enter_context(model.no_sync())
        return stack

    def begin(self, models: Sequence[torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer]) -> None:
        # What DistributedDataParallel did with the models when it wrapped them.
        for optimizer in optimizers:
            align(optimizer, self._distributed, self.share)

    def _broadcast(self, data: torch.Tensor) -> None:
        if data.device.type == "cpu" and torch.distributed.get_backend() == "nccl":
            # Adam counts its steps on the CPU, where NCCL does not reach.
            moved = data.cuda()
            torch.distributed.broadcast(moved, 0)
            data.copy_(moved)
        else:
            torch.distributed.broadcast(data, 0)

    def mean(self, tensor: torch.Tensor) -> torch.Tensor:
        total = tensor.clone()
        torch.distributed.all_reduce(total)
        return total.div_(torch.distributed.get_world_size())

    @contextlib.contextmanager
    def validating(self, models: Sequence[torch.nn.Module]) -> Iterator[None]:
        with super().validating(models):
            for model in _parallel(models):
                # Else each rank's first batch would wait for buffers, and a rank without batches has none.
                model.require_forward_param_sync = False
            yield


def _parallel(models: Sequence[torch.nn.Module]) -> list[Any]:
    return [model for model in models if isinstance(model, torch.nn.parallel.DistributedDataParallel)]


class HorovodBackend(Backend):
    """Horovod's optimizer sums gradients up while they are computed; models stay as they are."""

    def __init__(self, distributed: core.DistributedContext, hvd: Any) -> None:
        super().__init__(distributed)
        self._hvd = hvd
        self._passes: dict[int, int] = {}
        """By optimizer: backward passes between two steps."""

    def wrap_optimizer(
        self, optimizer: torch.optim.Optimizer, parameters: Named, passes: int, *, compress: bool
    ) -> torch.optim.Optimizer:
        compression = self._hvd.Compression.fp16 if compress else self._hvd.Compression.none
        wrapped: torch.optim.Optimizer = self._hvd.DistributedOptimizer(
            optimizer, named_parameters=parameters, compression=compression, backward_passes_per_step=passes
        )
        self._passes[id(wrapped)] = passes
        return wrapped

    def bring_together(self, optimizer: Any) -> None:
        if id(optimizer) not in self._passes:
            raise errors.InvalidExperimentException(
                "step_optimizer() was given an optimizer that does not know of the other slots; give it the one that "
                "wrap_optimizer() returned"
            )
        optimizer.synchronize()

    @contextlib.contextmanager
    def stepping(self, optimizer: Any) -> Iterator[None]:
        with optimizer.skip_synchronize():
            yield
        self.expect(optimizer, self._passes[id(optimizer)])

    def expect(self, optimizer: Any, passes: int) -> None:
        if optimizer.backward_passes_per_step != passes:
            optimizer.set_backward_passes_per_step(passes)

    def begin(self, models: Sequence[torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer]) -> None:
        for model in models:
            for tensor in (*model.parameters(), *model.buffers()):
                self.share(tensor)
        for optimizer in optimizers:
            align(optimizer, self._distributed, self.share)

    def _broadcast(self, data: torch.Tensor) -> None:
        self._hvd.broadcast_(data, 0)

    def mean(self, tensor: torch.Tensor) -> torch.Tensor:
        total: torch.Tensor = self._hvd.allreduce(tensor)
        return total


def launched_by_horovod() -> bool:
    """Whether a Horovod launcher, Horovod's own or `determined.launch.horovod`, started this process as a rank."""
    return os.environ.get("USE_HOROVOD", "").lower() in Truth or "HOROVOD_RANK" in os.environ


def from_environment() -> core.DistributedContext | None:
    """Who this process is among the ranks that a launcher started, None when it was started alone.

    Raises InvalidExperimentException where Horovod's launcher was used and there is no Horovod to import, and for
    DeepSpeed's, under which a trial class cannot train.
    """
    if os.environ.get("USE_DEEPSPEED", "").lower() in Truth:
        raise errors.InvalidExperimentException(
            "determined.launch.deepspeed cannot train a PyTorchTrial: start it with "
            "determined.launch.torch_distributed, or use DeepSpeed in a script of your own, by the Core API"
        )
    if launched_by_horovod():
        return core.DistributedContext.from_horovod(_horovod())
    if os.environ.get("USE_TORCH_DISTRIBUTED", "").lower() in Truth:
        return core.DistributedContext.from_torch_distributed()
    return None


def join(distributed: core.DistributedContext) -> Backend:
    """The backend by which these ranks work together; every rank calls it, and meets the others in it."""
    if distributed.size == 1:
        return Backend(distributed)
    if launched_by_horovod():
        return HorovodBackend(distributed, _horovod())
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return TorchBackend(distributed)


def _horovod() -> Any:
    """Horovod for torch, initialised."""
    try:
        hvd: Any = importlib.import_module("horovod.torch")
    except ImportError as problem:
        raise errors.InvalidExperimentException(
            f"the trial was started by a Horovod launcher, but Horovod for PyTorch cannot be imported here: {problem}; "
            "use an image that has it, or start the trial with determined.launch.torch_distributed"
        ) from problem
    hvd.init()
    return hvd


def align(
    optimizer: torch.optim.Optimizer, distributed: core.DistributedContext, share: Callable[[torch.Tensor], None]
) -> None:
    """Every rank goes on with rank 0's optimizer state and settings.

    Raises RuntimeError where a rank holds tensors of other shapes: it optimizes something else.
    """
    tensors = list(_state_tensors(optimizer))
    mine = [(tuple(tensor.shape), str(tensor.dtype)) for tensor in tensors]
    settings = [{name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups]
    theirs, settings = distributed.broadcast((mine, settings))
    differing = [rank for rank, same in enumerate(distributed.allgather(theirs == mine)) if not same]
    if differing:
        raise RuntimeError(
            f"ranks {differing} hold optimizer states of other shapes than rank 0: every rank has to wrap the same "
            "optimizers, over the same parameters, in the same order"
        )
    for tensor in tensors:
        share(tensor)
    for group, saved in zip(optimizer.param_groups, settings, strict=True):
        group.update(saved)


def _state_tensors(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for _, value in sorted(optimizer.state.get(parameter, {}).items()):
                if isinstance(value, torch.Tensor):
                    yield value
