"""How many wrong passwords are allowed: budgets of failures, in cells of which there is a fixed number.

A login attempt is charged to cells before its password is looked at, and gets the charge back when the password was
right. Which cells these are depends on how well the account knows the caller:

- A *known* caller has signed in to this account before: it carries a device cookie or a session token of the account,
  or comes from an address that the account has signed in from. It has a budget of its own, which nobody else uses up.
- A *stranger* is everybody else. Strangers are counted by account, by address, and by both together.

Cells are numbers: keyed hashes of what they count, into tables of a fixed size. Nobody can make the tables grow or push
a counter out, and without the cluster's secret nobody can choose whose cell a guess falls into. Where a table is
shared by many addresses, each has two cells, and an attempt is refused only when both are used up (the idea of the
count-min sketch, Cormode and Muthukrishnan 2005). Device cookies are OWASP's ("Slow down online guessing attacks with
device cookies"). A budget is a leaky bucket: it holds `burst` failures, and one more every `refill_s` seconds.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SKETCH_CELLS = 32_768
"""Of each of the two tables that addresses are counted in."""
UNKNOWN_NAME_CELLS = 4_096
CELLS_OF_AN_ACCOUNT = 64
"""For each way in which an account can know a caller."""


@dataclass(frozen=True, slots=True)
class Budget:
    burst: int
    """Failures that may follow one another at once."""
    refill_s: float
    """After so long one more is allowed."""

    def full_at(self, now_s: float, stored_s: float) -> float:
        """When the budget is full again after one more failure; `stored_s` is the same before that failure."""
        return max(stored_s, now_s) + self.refill_s

    def wait_s(self, now_s: float, stored_s: float) -> float:
        """How long until one more failure is allowed; 0 for at once."""
        return max(0.0, self.full_at(now_s, stored_s) - now_s - self.burst * self.refill_s)


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One counter: the table it stands in, and its number there."""

    table: str
    number: int


@dataclass(frozen=True, slots=True)
class Charge:
    """One thing that an attempt is counted by: refused when the budgets of all of its cells are used up."""

    budget: Budget
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets; one for each thing that is counted."""

    known: Budget
    stranger: Budget
    """One address, at one account that does not know it."""
    account: Budget
    """All strangers together, at one account."""
    address: Budget
    """One address, at all accounts that do not know it."""

    @classmethod
    def of(cls, failures_max: int) -> Limits:
        """`failures_max`: how many failures one caller may have at once at one account."""
        return cls(
            known=Budget(failures_max, 60.0),
            stranger=Budget(failures_max, 900.0),
            account=Budget(3 * failures_max, 300.0),
            address=Budget(5 * failures_max, 10.0),
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """Somebody tries to sign in."""

    username: str
    user_id: int | None
    """None where there is no such account."""
    address: str
    """As limits count it; empty where it cannot be told, as behind a proxy that does not say it."""
    session_id: int | None = None
    """Of a valid session of this account that the request carried."""
    device: str = ""
    """The name in a valid device cookie of this account."""
    address_is_known: bool = False
    """Whether this account has signed in from the address."""


class Counting:
    """Which cells an attempt is counted in. `secret` keeps callers from choosing cells."""

    def __init__(self, secret: bytes, limits: Limits) -> None:
        self._secret, self._limits = secret, limits

    def charges(self, attempt: Attempt) -> tuple[Charge, ...]:
        if (own := self._own(attempt)) is not None:
            return (Charge(self._limits.known, (own,)),)
        account = self._account(attempt)
        charges = [Charge(self._limits.account, (account,))]
        if attempt.address:
            pair = f"{account.number} {attempt.address}"
            charges.append(Charge(self._limits.stranger, self._sketched("stranger", pair)))
            charges.append(Charge(self._limits.address, self._sketched("address", attempt.address)))
        return tuple(charges)

    def _own(self, attempt: Attempt) -> Cell | None:
        """The cell of a known caller: the surest sign counts."""
        if attempt.user_id is None:
            return None
        for table, name in (
            ("session", str(attempt.session_id or "")),
            ("device", attempt.device),
            ("known", attempt.address if attempt.address_is_known else ""),
        ):
            if name:
                slot = self._hash(table, name) % CELLS_OF_AN_ACCOUNT
                return Cell(table, attempt.user_id * CELLS_OF_AN_ACCOUNT + slot)
        return None

    def _account(self, attempt: Attempt) -> Cell:
        """Accounts have a cell each. Names that nobody has share some, and behave as accounts do."""
        if attempt.user_id is not None:
            return Cell("account", attempt.user_id)
        return Cell("account", -1 - self._hash("name", attempt.username) % UNKNOWN_NAME_CELLS)

    def _sketched(self, table: str, name: str) -> tuple[Cell, Cell]:
        first, second = (Cell(f"{table}-{n}", self._hash(f"{table}-{n}", name) % SKETCH_CELLS) for n in (1, 2))
        return first, second

    def _hash(self, table: str, name: str) -> int:
        return int.from_bytes(hmac.digest(self._secret, f"{table}\0{name}".encode(), hashlib.sha256)[:8], "big")


@dataclass(frozen=True, slots=True)
class Decision:
    wait_s: float
    """How long the caller has to wait before it may try; 0 for a caller that may try now."""
    charged: Mapping[Cell, float]
    """By cell: the seconds that the attempt adds to it, which are given back when the password was right."""


def decide(charges: Sequence[Charge], stored: Mapping[Cell, float], now_s: float) -> Decision:
    """Whether an attempt may go on. `stored`: when each cell's budget is full again; cells left out are full now."""
    wait_s, charged = 0.0, dict[Cell, float]()
    for charge in charges:
        waits = {cell: charge.budget.wait_s(now_s, stored.get(cell, now_s)) for cell in charge.cells}
        wait_s = max(wait_s, min(waits.values()))
        charged.update({cell: charge.budget.refill_s for cell, wait in waits.items() if not wait})
    return Decision(wait_s, {} if wait_s else charged)


def after(stored: Mapping[Cell, float], charged: Mapping[Cell, float], now_s: float) -> dict[Cell, float]:
    """What is stored of the charged cells from then on."""
    return {cell: max(stored.get(cell, now_s), now_s) + seconds for cell, seconds in charged.items()}
