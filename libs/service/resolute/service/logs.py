"""Logs: one JSON object a line for programs, coloured text on a terminal; secrets are hidden in both."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping, Sequence
from typing import Any, Literal, TextIO

import orjson
import structlog

from resolute.service.recent_logs import RECENT

_SECRET_KEY = re.compile(r"(?i)(^|_)(password|passwd|secret|seed|token|authorization|cookie|credentials?)($|_)")
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@/\s]+@")

HIDDEN = "***"

TRACE = 5
"""Below debug: libraries that have a finer level than debug write at it."""

LEVELS = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


class OwnLog(logging.StreamHandler[TextIO]):
    """Writes the log of this process. Its level and colour may change while the process runs."""

    def __init__(self, shared: Sequence[structlog.typing.Processor], level: str, *, text: bool) -> None:
        super().__init__(sys.stderr)
        self._shared, self._configured_level, self.text = shared, level, text
        self.change(None, None)

    def change(self, level: str | None, color: bool | None) -> None:
        """None: as it was when the process started. JSON lines have no colour."""
        self.level_name = level or self._configured_level
        self.color = self.text and (sys.stderr.isatty() if color is None else color)
        logging.getLogger().setLevel(LEVELS[self.level_name])
        self.setFormatter(
            structlog.stdlib.ProcessorFormatter(
                foreign_pre_chain=[*self._shared, structlog.stdlib.add_logger_name],
                processors=[
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *_renderers(self.text, color=self.color),
                ],
            )
        )


def own_log() -> OwnLog | None:
    """None where `configure` was not called: the log then belongs to another program, such as a test."""
    return next((one for one in logging.getLogger().handlers if isinstance(one, OwnLog)), None)


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
        # The level is asked at each line, since it may change: a logger that is cached keeps everything else.
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        cache_logger_on_first_use=True,
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
    logging.getLogger().handlers[:] = [OwnLog(shared, level, text=text), RECENT]
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


def _renderers(text: bool, *, color: bool) -> list[structlog.typing.Processor]:
    if text:
        return [structlog.dev.ConsoleRenderer(colors=color)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_to_json)]


def _sentence(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    """The event, then its fields, as one text. `LogLine` has the time and the level."""
    said, trace = event.pop("event", ""), event.pop("exception", None)
    about = [f"{key}={value}" for key, value in event.items() if key not in ("timestamp", "level")]
    return " ".join([str(said), *about]) + (f"\n{trace}" if trace else "")


def _to_json(event: Any, **_: Any) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
