"""Logs: one JSON object a line for programs, coloured text on a terminal; secrets are hidden in both."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import orjson
import structlog

from resolute.service.recent_logs import RECENT

_SECRET_KEY = re.compile(r"(?i)(^|_)(password|passwd|secret|seed|token|authorization|cookie|credentials?)($|_)")
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@/\s]+@")

HIDDEN = "***"


def configure(service: str, level: str = "info", form: Literal["json", "text", "auto"] = "auto") -> None:
    """Sets up logging for the whole process, the standard library's loggers included. Logs go to standard error."""
    text = form == "text" or (form == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _named(service),
        redact,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(text)],
        )
    )
    RECENT.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _sentence,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler, RECENT]
    root.setLevel(level.upper())
    logging.getLogger("aiohttp.access").setLevel("WARNING")
    logging.getLogger("nats").setLevel("WARNING")


def redact(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hides the values of keys that name a secret, and the passwords in URLs under any key."""
    for key, value in event.items():
        event[key] = _redacted(key, value)
    return event


def _redacted(key: str, value: Any) -> Any:
    if _SECRET_KEY.search(key) and value is not None:
        return HIDDEN
    if isinstance(value, str):
        return _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", value) if "://" in value else value
    if isinstance(value, dict):
        return {inner: _redacted(str(inner), held) for inner, held in value.items()}
    return value


def _named(service: str) -> structlog.typing.Processor:
    def add(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.setdefault("service", service)
        return event

    return add


def _renderers(text: bool) -> list[structlog.typing.Processor]:
    if text:
        return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_to_json)]


def _sentence(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    """The event, then its fields, as one text. `LogLine` has the time and the level."""
    said, trace = event.pop("event", ""), event.pop("exception", None)
    about = [f"{key}={value}" for key, value in event.items() if key not in ("timestamp", "level")]
    return " ".join([str(said), *about]) + (f"\n{trace}" if trace else "")


def _to_json(event: Any, **_: Any) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
