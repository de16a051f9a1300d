"""The messages about users, their sessions, and the settings that the web app keeps for them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import AgentUserGroup, Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Flag, Instant, Needed, OrAbsent, WireEnum, items, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request, unparsed
from resolute.api.request_body import RequestBody

PASSWORD = text(4096)
Password = Annotated[str, PASSWORD]
"""As a person types it, or in the form that clients make of it."""

SettingValue = Annotated[str, text(1_048_576)]


# ---------------------------------------------------------------- what answers show


class User(Message, wire_name="v1User"):
    id: Id = 0
    username: Name
    admin: bool
    active: bool
    display_name: Name = ""
    remote: bool = False
    agent_user_group: AgentUserGroup | None
    """The user and the group of an agent's host as which the user's tasks run."""
    modified_at: datetime | None
    last_auth_at: OrAbsent[datetime] = None
    """When the user last logged in."""


class Setting(Message, wire_name="v1UserWebSetting"):
    key: Name
    storage_path: Name = ""
    value: SettingValue = ""


# ---------------------------------------------------------------- sessions


class Credentials(Input, wire_name="v1LoginRequest"):
    password: Needed[Password] = ""
    username: Needed[Name] = ""
    is_hashed: Flag = False
    """Whether the password is in the form that clients make of it."""


class Login(Request):
    body: InBody[Credentials]


class LoginAnswer(Message, wire_name="v1LoginResponse"):
    token: str
    user: User


class Logout(Request):
    pass


class CurrentUser(Request):
    pass


class CurrentUserAnswer(Message, wire_name="v1CurrentUserResponse"):
    user: User


class GetMe(Request):
    pass


class MeAnswer(Message, wire_name="v1GetMeResponse"):
    user: User


class LegacyMe(Request):
    pass


class LegacyMeAnswer(Message, wire_name="LegacyMeResponse"):
    id: int
    username: str
    admin: bool
    active: bool


# ---------------------------------------------------------------- lists, and one user


class SortUsersBy(WireEnum, wire_name="v1GetUsersRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    DISPLAY_NAME = "SORT_BY_DISPLAY_NAME"
    USER_NAME = "SORT_BY_USER_NAME"
    ADMIN = "SORT_BY_ADMIN"
    ACTIVE = "SORT_BY_ACTIVE"
    MODIFIED_TIME = "SORT_BY_MODIFIED_TIME"
    NAME = "SORT_BY_NAME"
    LAST_AUTH_TIME = "SORT_BY_LAST_AUTH_TIME"
    REMOTE = "SORT_BY_REMOTE"


class GetUsers(Request):
    active: InQuery[Flag | None] = None
    admin: InQuery[Flag | None] = None
    limit: InQuery[Limit] = 0
    name: InQuery[Name] = ""
    """A part of the name or of the displayed name, in any case of letters."""
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    role_id_assigned_directly_to_user: InQuery[Annotated[tuple[Annotated[int, whole()], ...], items(100_000)]] = ()
    """Those who hold one of these roles themselves, wherever: roles of their groups do not count."""
    sort_by: InQuery[SortUsersBy] = SortUsersBy.UNSPECIFIED


class UsersAnswer(Message, wire_name="v1GetUsersResponse"):
    users: tuple[User, ...] = ()
    pagination: Pagination | None = None


class GetUser(Request):
    user_id: InPath[Id]


class UserAnswer(Message, wire_name="v1GetUserResponse"):
    user: User


class GetUserByUsername(Request):
    username: InPath[Name]


class UserByUsernameAnswer(Message, wire_name="v1GetUserByUsernameResponse"):
    user: User


# ---------------------------------------------------------------- changes


class GivenUser(Input, wire_name="v1User"):
    """A user as a request describes one. What the cluster keeps itself (the id, the instants) is taken and ignored."""

    id: Id = 0
    username: Needed[Name] = ""
    admin: Needed[Flag] = False
    active: Needed[Flag | None] = True
    """Null makes a user who is not active."""
    display_name: Name = ""
    remote: Flag = False
    agent_user_group: AgentUserGroup | None = None
    modified_at: Instant = None
    last_auth_at: Instant = None


class NewUser(Input, wire_name="v1PostUserRequest"):
    user: GivenUser = GivenUser()
    password: Password = ""
    is_hashed: Flag = False
    """Whether the password is in the form that clients make of it."""


class PostUser(Request):
    body: InBody[NewUser]


class NewUserAnswer(Message, wire_name="v1PostUserResponse"):
    user: User | None


class UserChange(Input, wire_name="v1PatchUser"):
    """What is left out or null stays as it is."""

    username: Name | None = None
    admin: Flag | None = None
    active: Flag | None = None
    display_name: Name | None = None
    remote: Flag | None = None
    agent_user_group: AgentUserGroup | None = None
    password: Password | None = None
    is_hashed: Flag = False
    """Whether the password is in the form that clients make of it."""


class PatchUser(Request):
    user_id: InPath[Id]
    body: InBody[UserChange]


class ChangedUserAnswer(Message, wire_name="v1PatchUserResponse"):
    user: User


class UserFilters(Input, wire_name="v1UserFilters"):
    """Taken for the sake of clients: the users are those that are named."""

    name: Name = ""
    admin: Flag = False


class Activation(Input, wire_name="v1PatchUsersRequest"):
    activate: Needed[Flag] = False
    user_ids: Needed[Annotated[tuple[Annotated[int, whole(least=1)], ...], items(10_000)]] = ()
    filters: UserFilters = UserFilters()


class PatchUsers(Request):
    body: InBody[Activation]


class UserActionResult(Message, wire_name="v1UserActionResult"):
    id: int
    error: str
    """Why the user was left as it was; empty where the change was made."""


class ActivationAnswer(Message, wire_name="v1PatchUsersResponse"):
    results: tuple[UserActionResult, ...]


class SetUserPassword(Request):
    user_id: InPath[Id]
    body: InBody[Annotated[RequestBody, unparsed(PASSWORD)]]
    """A bare JSON string, or nothing at all. It is read once the caller is known to be let in."""


class PasswordAnswer(Message, wire_name="v1SetUserPasswordResponse"):
    user: User | None


# ---------------------------------------------------------------- settings of the web app


class GetUserSetting(Request):
    pass


class SettingsAnswer(Message, wire_name="v1GetUserSettingResponse"):
    settings: tuple[Setting, ...]


class GivenSetting(Input, wire_name="v1UserWebSetting"):
    key: Needed[Name] = ""
    storage_path: Name = ""
    value: SettingValue = ""


class GivenSettings(Input, wire_name="v1PostUserSettingRequest"):
    settings: Needed[Annotated[tuple[GivenSetting, ...], items(1000)]] = ()


class PostUserSetting(Request):
    body: InBody[GivenSettings]


class ResetUserSetting(Request):
    pass
