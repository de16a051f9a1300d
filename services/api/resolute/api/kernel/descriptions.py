"""What the source says of the fields of a message: the text that stands below each, for the OpenAPI document."""

from __future__ import annotations

import ast
import gc
import inspect
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise

from resolute.api.kernel.messages import Written


def description_of(message: type[Written]) -> str:
    """What the message says of itself."""
    return _in_one_line(message.__dict__.get("__doc__") or "")


@cache
def descriptions_of(message: type[Written]) -> Mapping[str, str]:
    """By the name on the wire: what is said of a field, of those of which something is said."""
    found: dict[str, str] = {}
    for one in reversed(message.__mro__):
        if issubclass(one, Written):
            found |= {name: text for name, text in _said_in(one).items() if name in message.model_fields}
    return {message.wire_field(name): text for name, text in found.items()}


def modules_of(messages: Iterable[type[Written]]) -> list[str]:
    """The modules whose source says something of these messages."""
    classes = (one for message in messages for one in message.__mro__)
    return sorted({one.__module__ for one in classes if issubclass(one, Written)})


def _said_in(message: type[Written]) -> dict[str, str]:
    body = classes_in(message.__module__).get(message.__qualname__, [])
    return {
        field.target.id: _in_one_line(below.value.value)
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


@cache
def classes_in(module: str) -> Mapping[str, list[ast.stmt]]:
    """By name: the statements of each class of a module. Empty where its source is not there.

    A process with several threads calls this first on the thread of its event loop, where tracebacks are printed as
    well: see `_parsed`.
    """
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:
        return {}
    return {node.name: node.body for node in _parsed(source).body if isinstance(node, ast.ClassDef)}


def _parsed(source: str) -> ast.Module:
    """`ast.parse`, which nothing interrupts.

    Python 3.11 counts the depth of a tree that it converts in one place for the whole process. A collection of garbage
    in the middle may run a finalizer that prints a traceback, or let another thread do so; a traceback is printed by
    parsing the line that failed, and the first conversion then ends with "SystemError: AST constructor recursion depth
    mismatch". Without a collection it runs through, because it executes no Python code.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collects:
            gc.enable()


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
