"""The section `security.token` of the master configuration: for how long access tokens count."""

from __future__ import annotations

from pydantic import Field, model_validator

from .pools import Section

NO_LIMIT = -1
LONGEST_DAYS = 106_751
"""What stands for no limit: the longest duration of Go, in days."""


class TokenLifespans(Section):
    default_lifespan_days: int = Field(default=30, ge=NO_LIMIT, le=LONGEST_DAYS)
    """Of tokens whose creation names no lifespan; -1 for the longest."""
    max_lifespan_days: int = Field(default=30, ge=NO_LIMIT, le=LONGEST_DAYS)
    """-1 for no limit."""

    @model_validator(mode="after")
    def _fit(self) -> TokenLifespans:
        for name in ("default_lifespan_days", "max_lifespan_days"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name}: expected at least 1 day, or -1 for no limit; found 0")
        if self.default_days > self.longest_days:
            raise ValueError(
                f"default_lifespan_days: expected at most max_lifespan_days ({self.longest_days}); "
                f"found {self.default_days}"
            )
        return self

    @property
    def default_days(self) -> int:
        return self.longest_days if self.default_lifespan_days == NO_LIMIT else self.default_lifespan_days

    @property
    def longest_days(self) -> int:
        return LONGEST_DAYS if self.max_lifespan_days == NO_LIMIT else self.max_lifespan_days
