"""Bodies of requests that a slice reads by a function of its own.

Batches of metrics and of log lines hold thousands of elements, and come often: a message for each element would cost
more than what is done with it. The type of the request's field names the class that reads the body:

    class PostTaskLogs(Request):
        body: InBody[LineBatch]

    @dataclass(frozen=True, slots=True)
    class LineBatch(Decoded):
        documented: ClassVar[Any] = PostedLines
        lines: tuple[Line, ...]

        @classmethod
        def decoded(cls, document: Any) -> Self: ...
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Decoded:
    """A body that its class reads, before it is decided whether the request may come in. A large one is read on a
    thread."""

    __slots__ = ()

    documented: ClassVar[Any]
    """What the OpenAPI documents say of the body: a message, or the type of a list of messages."""

    @classmethod
    @abstractmethod
    def decoded(cls, document: Any) -> Self:
        """The body that this document says: the parsed JSON with keys in camelCase, and {} where no body came.

        Raises InvalidConfig, which names the field, for what does not fit: nothing else checks a value of the body.
        """

    def named(self) -> Any:
        """The part of the document that the access of the route looks at: where the body names tasks at
        `body.logs.taskId`, {"logs": [{"taskId": "…"}]} with each of them once."""
        return {}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls._read)

    @classmethod
    def _read(cls, value: Any) -> Self:
        return value if isinstance(value, cls) else cls.decoded(value)
