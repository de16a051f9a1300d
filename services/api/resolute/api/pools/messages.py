"""The messages about agents, their slots, and resource pools."""

from __future__ import annotations

from resolute.api.kernel.fields import WireEnum
from resolute.api.kernel.messages import Message


class DeviceType(WireEnum, wire_name="devicev1Type"):
    UNSPECIFIED = "TYPE_UNSPECIFIED"
    CPU = "TYPE_CPU"
    """Also that of artificial slots."""
    CUDA = "TYPE_CUDA"
    ROCM = "TYPE_ROCM"

    @classmethod
    def of(cls, kind: str) -> DeviceType:
        """The type of a slot, by its kind in the log."""
        return _OF_KINDS.get(kind, cls.UNSPECIFIED)


_OF_KINDS = {
    "cuda": DeviceType.CUDA,
    "rocm": DeviceType.ROCM,
    "cpu": DeviceType.CPU,
    "artificial": DeviceType.CPU,
}


class Device(Message, wire_name="v1Device"):
    id: int = 0
    """The number of the slot on its agent."""
    brand: str = ""
    uuid: str = ""
    type: DeviceType = DeviceType.UNSPECIFIED
