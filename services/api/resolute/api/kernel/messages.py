"""The messages of the wire: what a request brings, and what an answer says, each declared once as a class.

Fields are in snake_case, and in camelCase on the wire. Their types say the ranges and lengths of their values
(`resolute.api.kernel.fields`). Requests are read by these declarations, answers are written by them, and the OpenAPI
documents, the reference and the contract tests are made of them.

    class PatchProject(Request):
        id: InPath[ProjectId]
        body: InBody[ProjectChange]

    class ProjectChange(Input, wire_name="v1PatchProject"):
        name: Name | None = None

    class ProjectAnswer(Message, wire_name="v1PatchProjectResponse"):
        project: Project
"""

from __future__ import annotations

import typing
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from resolute.api import wire
from resolute.api.kernel import values
from resolute.api.kernel.decoding import Decoded
from resolute.api.kernel.fields import Absent, Declared, Required, is_bounded, kind_of, said, taken_apart
from resolute.api.kernel.kinds import Kind, bounded

T = TypeVar("T")


Encoder = Callable[[dict[str, Any]], dict[str, Any]]
Form = Callable[[Any], Any]


class Written(BaseModel):
    """Something with fields that the wire has a form for."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,  # a password may be among it
        alias_generator=wire.camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # a validator takes a millisecond to build, there are hundreds, and answers need none
    )
    wire_name: ClassVar[str] = ""
    """Its name in the OpenAPI documents, which Determined's clients know."""

    def __init_subclass__(cls, *, wire_name: str = "", **config: Any) -> None:
        super().__init_subclass__(**config)
        cls.wire_name = wire_name or cls.__name__

    @classmethod
    def wire_field(cls, field: str) -> str:
        """What a field is called on the wire, as errors name it."""
        return cls.model_fields[field].alias or field

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """None: a password may be among the fields, and a traceback may show this."""
        return []

    def __wire__(self) -> dict[str, Any]:
        """The object that goes onto the wire; messages within it are written when their turn comes."""
        encode = _encoder(kind := type(self))
        if kind.__wire__ is Written.__wire__:
            wire.ENCODERS[kind] = encode  # from now on, `wire.dumps` finds it without asking the message
        return encode(self.__dict__)


class Message(Written):
    """What an answer is made of. Its values come from typed code and are not checked again: a list has hundreds."""

    def __init_subclass__(cls, **config: Any) -> None:
        super().__init_subclass__(**config)
        setattr(cls, "__init__", _make_constructor)  # noqa: B010  (each class has one of its own)


# The slots of every model, which are set without asking whether it is frozen.
_slots = vars(BaseModel)
_set_dict = _slots["__dict__"].__set__
_set_fields_set = _slots["__pydantic_fields_set__"].__set__
_set_extra = _slots["__pydantic_extra__"].__set__
_set_private = _slots["__pydantic_private__"].__set__
_NONE_SET: set[str] = set()
"""Nothing changes it: a copy of a message has a set of its own."""


def _make_constructor(self: Message, **values: Any) -> None:
    """The constructor of a message until it is called for the first time: then the class gets its own."""
    kind = type(self)
    made = _constructor(kind)
    setattr(kind, "__init__", made)  # noqa: B010  (assigned to the class, not to the message)
    made(self, **values)


def _constructor(message: type[Message]) -> Callable[..., None]:
    """A constructor that takes the fields by name. It is put together as text, as dataclasses do it: with the names in
    its signature, Python itself finds out what is missing or too much, in a third of the time of merging two
    dictionaries and counting."""
    fields = message.model_fields
    taken = [name if field.is_required() else f"{name}=default_{name}" for name, field in fields.items()]
    lines = [
        f"def __init__(self{''.join(f', {one}' for one in ['*', *taken])}):" if taken else "def __init__(self):",
        f"    set_dict(self, {{{', '.join(f'{name!r}: {name}' for name in fields)}}})",
        "    set_fields_set(self, none_set)",
        "    set_extra(self, None)",
        "    set_private(self, None)",
    ]
    made: dict[str, Any] = {f"default_{name}": field.default for name, field in fields.items()}
    made |= {"set_dict": _set_dict, "set_fields_set": _set_fields_set, "none_set": _NONE_SET}
    made |= {"set_extra": _set_extra, "set_private": _set_private}
    exec("\n".join(lines), made)
    constructor: Callable[..., None] = made["__init__"]
    constructor.__qualname__ = f"{message.__name__}.__init__"
    return constructor


class Empty(Message):
    """An answer that says nothing."""


class Bare(Message):
    """An answer that is a value of its own, such as a list: what goes out is its field `value` alone."""

    def __wire__(self) -> Any:
        return super().__wire__()["value"]


class Input(Written):
    """What a request brings, or a part of it. As in protobuf, a field that is null is one that was left out, unless
    its type has None. Every value has a range or a length."""

    @classmethod
    def __pydantic_init_subclass__(cls, **config: Any) -> None:
        for name, hint in hints_of(cls).items():
            if not is_bounded(hint):
                raise TypeError(f"{cls.__name__}.{name}: a value that clients send needs a range or a length: {hint}")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if isinstance(value, cls):
            return value
        document = said(values.expect_object, value)
        if None not in document.values():
            return document
        nullable = _nullable(cls)
        return {key: inner for key, inner in document.items() if inner is not None or key in nullable}

    @classmethod
    def stored(cls, document: Mapping[str, Any]) -> Self:
        """The message that a document of the database holds, by its names on the wire. It was checked as it came in,
        perhaps by the rules of an earlier release, and is not checked again."""
        return cls.model_construct(**{name: document.get(cls.wire_field(name)) for name in cls.model_fields})


@cache
def hints_of(message: type[Written]) -> Mapping[str, Any]:
    """The types of a message's fields, by their names in Python, with all that `Annotated` adds."""
    return {name: _hint(field) for name, field in message.model_fields.items()}


def _hint(field: FieldInfo) -> Any:
    """The annotation as it was written: pydantic keeps what `Annotated` adds to the whole of it apart."""
    annotated: Any = Annotated
    return annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


@cache
def _nullable(message: type[Written]) -> frozenset[str]:
    hints = hints_of(message).items()
    return frozenset(message.wire_field(name) for name, hint in hints if taken_apart(hint).nullable)


# ---------------------------------------------------------------- requests


Place = Literal["path", "query", "body"]


@dataclass(frozen=True)
class In:
    """Marks a field of a request with where the request has it."""

    place: Place

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self.place == "query" and taken_apart(source).bare is bool:
            return core_schema.no_info_plain_validator_function(_flag)
        return handler(source)


def _flag(value: Any) -> bool | None:
    return said(values.check_flag, value) if isinstance(value, str) else value


InPath = Annotated[T, In("path")]
InQuery = Annotated[T, In("query")]
InBody = Annotated[T, In("body")]


@dataclass(frozen=True)
class Unparsed(Declared):
    """Marks a body that the operation reads by a decoder of its own: the field holds the `RequestBody` as it came.
    `documented` says what the body is."""

    documented: type[Written] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()


def unparsed(documented: type[Written] | Declared) -> Unparsed:
    """`body: InBody[Annotated[RequestBody, unparsed(Reports)]]`, or `unparsed(text(4096))` for a bare value."""
    if isinstance(documented, Declared):
        return Unparsed(documented.kind)
    return Unparsed(bounded(documented.wire_name), documented)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a path or a query."""

    field: str
    name: str
    """On the wire."""
    kind: Kind
    required: bool


@dataclass(frozen=True)
class Parts:
    """Where a request has its fields."""

    path: tuple[Parameter, ...]
    query: tuple[Parameter, ...]
    body: Parameter | None


class Request(Written):
    """What one operation is asked with. Each field says where the request has it: `InPath`, `InQuery`, or, one of them,
    `InBody`; in this order, in which they are read."""

    @classmethod
    def __pydantic_init_subclass__(cls, **config: Any) -> None:
        places = [place_of(cls, name) for name in cls.model_fields]
        if places != sorted(places, key=("path", "query", "body").index) or places.count("body") > 1:
            raise TypeError(f"{cls.__name__}: first the fields in the path, then those in the query, then one body")
        for name, hint in hints_of(cls).items():
            if not is_bounded(hint):
                raise TypeError(f"{cls.__name__}.{name}: a value that clients send needs a range or a length: {hint}")


def place_of(request: type[Request], field: str) -> Place:
    """Raises TypeError for a field that does not say it."""
    marks = taken_apart(hints_of(request)[field]).marks
    place = next((mark.place for mark in marks if isinstance(mark, In)), None)
    if place is None:
        raise TypeError(f"{request.__name__}.{field}: say where the request has it, by InPath, InQuery or InBody")
    return place


@cache
def parts_of(request: type[Request]) -> Parts:
    request.model_rebuild()
    found: dict[str, list[Parameter]] = {"path": [], "query": [], "body": []}
    for name, hint in hints_of(request).items():
        parameter = Parameter(name, request.wire_field(name), kind_of(hint), is_required(request, name))
        found[place_of(request, name)].append(parameter)
    body = found["body"][0] if found["body"] else None
    return Parts(tuple(found["path"]), tuple(found["query"]), body)


def is_required(message: type[Written], field: str) -> bool:
    """Whether the OpenAPI documents call it required."""
    hint = taken_apart(hints_of(message)[field])
    return hint.has(Required) or (message.model_fields[field].is_required() and not hint.nullable)


def named_in(request: Request) -> tuple[dict[str, str], Any]:
    """The parameters of the path, as text, and what the body sets, by their names on the wire: for the decision whether
    the request may come in. Fields of the body that are null or left out are not there; a body that its class reads
    says itself what it names."""
    parts = parts_of(type(request))
    path = {one.name: str(getattr(request, one.field)) for one in parts.path}
    return path, {} if parts.body is None else _given(getattr(request, parts.body.field))


def _given(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_given(one) for one in value]
    if isinstance(value, Decoded):
        return value.named()
    return given_in(value) if isinstance(value, Written) else value


def given_in(message: Written) -> dict[str, Any]:
    """The fields that a client has set, by their names on the wire; those that are null are not there."""
    kind = type(message)
    fields = ((name, getattr(message, name)) for name in kind.model_fields if name in message.model_fields_set)
    return {kind.wire_field(name): _given(value) for name, value in fields if value is not None}


# ---------------------------------------------------------------- answers


@cache
def _encoder(message: type[Written]) -> Encoder:
    """Most fields go out as they are. The function that takes them is put together as text, as dataclasses do it: one
    expression is several times quicker than a loop over the fields."""
    hints = hints_of(message)
    forms = {f"form_{name}": form for name, hint in hints.items() if (form := _form(hint)) is not None}
    absent = [name for name, hint in hints.items() if taken_apart(hint).has(Absent)]
    always = ", ".join(f"{message.wire_field(name)!r}: {_value(name, forms)}" for name in hints if name not in absent)
    lines = [
        f"    if found[{name!r}] is not None: shown[{message.wire_field(name)!r}] = {_value(name, forms)}"
        for name in absent
    ]
    source = "\n".join(["def encode(found):", f"    shown = {{{always}}}", *lines, "    return shown"])
    made: dict[str, Any] = dict(forms)
    exec(source, made)
    encode: Encoder = made["encode"]
    return encode


def _value(name: str, forms: Mapping[str, Form]) -> str:
    plain = f"found[{name!r}]"
    return f"(form_{name}({plain}) if {plain} is not None else None)" if f"form_{name}" in forms else plain


def _form(hint: Any) -> Form | None:
    """What makes the wire's form of a value whose form in JSON is another; None where there is nothing to do."""
    found = taken_apart(hint)
    elements = [one for one in typing.get_args(found.bare) if one is not ...]
    if elements and (inner := _form(elements[-1])) is not None:
        return partial(_each if typing.get_origin(found.bare) is tuple else _each_value, inner)
    return None if elements or found.bare is Any else _FORMS.get(kind_of(hint).name)


def _each(form: Form, values: tuple[Any, ...]) -> list[Any]:
    return [None if value is None else form(value) for value in values]


def _each_value(form: Form, values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: None if value is None else form(value) for key, value in values.items()}


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


_FORMS: Mapping[str, Form] = {
    "string(int64)": str,
    "string(date-time)": wire.json_instant,
    "string(base64)": _base64,
    "float": wire.number,
}
