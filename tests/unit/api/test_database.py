"""What counts as an outage of the database, and what is somebody's mistake."""

from __future__ import annotations

import asyncpg
import pytest

from resolute.api.database import outages
from resolute.proto.errors import InvalidConfig, Unavailable


class DoesNotFit(asyncpg.InterfaceError, ValueError):  # type: ignore[misc]
    """As asyncpg's own word for an argument that does not fit its column, which it says before it sends anything."""


@pytest.mark.parametrize(
    "trouble",
    [
        asyncpg.DiskFullError,
        asyncpg.DeadlockDetectedError,
        asyncpg.QueryCanceledError,
        asyncpg.AdminShutdownError,
        asyncpg.TooManyConnectionsError,
        asyncpg.ConnectionDoesNotExistError,
        asyncpg.InterfaceError,
        EOFError,
        TimeoutError,
    ],
)
def test_what_passes_by_itself_is_an_outage(trouble: type[Exception]) -> None:
    """The read model sets an event aside when its rows are refused: never because the disk was full for a while."""
    with pytest.raises(Unavailable, match="away"), outages():
        raise trouble("for a while")


@pytest.mark.parametrize(
    "mistake",
    [
        asyncpg.NumericValueOutOfRangeError,
        asyncpg.CharacterNotInRepertoireError,
        asyncpg.UntranslatableCharacterError,
        asyncpg.InvalidRegularExpressionError,
        asyncpg.ProgramLimitExceededError,
        asyncpg.StatementTooComplexError,
        DoesNotFit,
    ],
)
def test_a_value_that_the_database_cannot_hold_is_the_callers_mistake_and_no_outage(mistake: type[Exception]) -> None:
    with pytest.raises(InvalidConfig), outages():
        raise mistake("a value")


@pytest.mark.parametrize("mistake", [asyncpg.NotNullViolationError, asyncpg.UndefinedColumnError])
def test_what_is_wrong_with_a_statement_is_told_as_it_is(mistake: type[Exception]) -> None:
    with pytest.raises(mistake), outages():
        raise mistake("for ever")
