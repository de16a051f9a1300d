"""What can go wrong, as a tree: every error a caller may meet, with the HTTP status it travels under.

```
ResoluteError
├── Refused          the state does not allow it; says what was asked and what stood in the way    409
├── NotFound         no such experiment, trial, checkpoint                                         404
├── InvalidConfig    the user's YAML or request; carries the path, `searcher.max_length`           400
├── TooLarge         a message is larger than the bus carries; the message says by how much         413
├── Forbidden        the caller is someone, but not someone who may do this                        403
├── SetAside         processes died of this very command: it is not tried again                    409
├── WrongVersion     someone else wrote first; the shell reads again and decides again
├── Unavailable      Postgres or NATS is away; the shell waits and tries again                     503
└── Failed           another service met a bug while it decided: that is no answer                 500
```

Errors cross the bus by name (`code`) and message, so that a refusal decided in one service reaches the
person who asked another.
"""

from __future__ import annotations

from typing import ClassVar


class ResoluteError(Exception):
    """The root. `code` names the error on the bus, `http_status` on the wire."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500

    @property
    def message(self) -> str:
        return str(self.args[0]) if self.args else type(self).__name__


class Refused(ResoluteError):
    """The state does not allow it. The message says what was asked, what stood in the way, what to try."""

    code = "refused"
    http_status = 409


class NotFound(ResoluteError):
    code = "not_found"
    http_status = 404


class InvalidConfig(ResoluteError):
    """The user's input is wrong; the message names the path, what was found and what would do."""

    code = "invalid"
    http_status = 400


class TooLarge(ResoluteError):
    """A message is larger than the bus carries: sending it again changes nothing."""

    code = "too_large"
    http_status = 413


class Forbidden(ResoluteError):
    code = "forbidden"
    http_status = 403


class SetAside(ResoluteError):
    """Processes of the service that decides it died while they carried this command out; it is not tried again."""

    code = "set_aside"
    http_status = 409


class WrongVersion(ResoluteError):
    """Someone else appended to the stream first; nothing was written."""

    code = "wrong_version"
    http_status = 409

    def __init__(self, stream: str, expected: int, found: int) -> None:
        super().__init__(f"{stream} is at version {found}, not {expected}")
        self.stream, self.expected, self.found = stream, expected, found


class Unavailable(ResoluteError):
    """A service, the log or the bus cannot be reached now; trying again later is safe."""

    code = "unavailable"
    http_status = 503


class Unserved(Unavailable):
    """No process listens at the address that was asked, so no process has received the message. On the bus and on the
    wire it is an `Unavailable`."""


class Failed(ResoluteError):
    """Another service met a bug of its own. It has not answered: who needs an answer asks again."""


def refuse(what: str, stands_in_the_way: str, try_this: str = "") -> Refused:
    """A refusal in the form that every service uses: what was asked, what stood in the way, what to try."""
    return Refused(f"cannot {what}: {stands_in_the_way}" + (f"; {try_this}" if try_this else ""))


_BY_CODE: dict[str, type[ResoluteError]] = {
    kind.code: kind for kind in (Refused, NotFound, InvalidConfig, TooLarge, Forbidden, SetAside, Unavailable)
}


def from_code(code: str, message: str) -> ResoluteError:
    """The error that another service answered with."""
    return _BY_CODE.get(code, Failed)(message)
