"""The scope of a request: the workspaces whose things it may see or change, resolved once, before a handler runs.

`Grants` says where a user holds a permission. In a cluster without roles, every user holds every permission everywhere.
Only the module `access` makes a `Scope` or an `Outside` (the architecture test compares), and no list, count or action
on many can be built without one (`kernel.listing.Where`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from resolute.api.principals import Principal
from resolute.config.rights import EVERYWHERE as EVERYWHERE
from resolute.config.rights import Everywhere as Everywhere
from resolute.config.rights import Workspaces

Held: TypeAlias = Workspaces
"""The ids of the workspaces in which somebody holds a permission."""


class Grants(Protocol):
    """Where users hold permissions."""

    @property
    def by_roles(self) -> bool:
        """Whether a permission alone opens a route that has one. Otherwise the kinds of caller that the route lists
        (administrators, owners) count as well."""
        ...

    async def held(self, user: Principal, permissions: Collection[str]) -> Mapping[str, Held]:
        """Where `user` holds each of `permissions`, which are some of `table.PERMISSIONS`. What everybody may do, such
        as to see the agents (`cluster.view`), is held everywhere."""
        ...


class AllEverywhere:
    """The grants of a cluster without roles."""

    by_roles = False

    async def held(self, user: Principal, permissions: Collection[str]) -> Mapping[str, Held]:
        return dict.fromkeys(permissions, EVERYWHERE)


@dataclass(frozen=True, slots=True)
class Scope:
    """The workspaces whose things a request may see or change."""

    held: Held

    @property
    def is_everything(self) -> bool:
        return self.held is EVERYWHERE

    def covers(self, workspace_id: int | None) -> bool:
        """Whether a thing of that workspace lies within. One whose workspace is unknown lies in everything alone."""
        return isinstance(self.held, Everywhere) or workspace_id in self.held

    def __and__(self, other: Scope) -> Scope:
        if isinstance(self.held, Everywhere):
            return other
        return self if isinstance(other.held, Everywhere) else Scope(self.held & other.held)


@dataclass(frozen=True, slots=True)
class Outside:
    """In the place of a scope, for routes about what lies outside of workspaces."""


Bounds: TypeAlias = Scope | Outside


@dataclass(frozen=True, slots=True)
class Rights:
    """Where the caller holds the permissions that a route can ask for."""

    scopes: Mapping[str, Scope]
    by_roles: bool = False

    @property
    def is_everything(self) -> bool:
        return all(scope.is_everything for scope in self.scopes.values())

    def over(self, permission: str) -> Scope:
        """An access without a permission asks for none."""
        return self.scopes[permission] if permission else UNLIMITED

    def sees(self, permission: str, workspace_id: int | None) -> bool:
        """Whether a thing exists for the caller, who wants to do with it what `permission` is for."""
        return self.over(viewing(permission)).covers(workspace_id)


UNLIMITED = Scope(EVERYWHERE)


def viewing(permission: str) -> str:
    """The permission without which a thing does not exist for the caller, whatever else he may do with its kind."""
    return f"{permission.partition('.')[0]}.view" if permission else ""
