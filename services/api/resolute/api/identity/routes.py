"""The routes of users, their sessions and their settings."""

from __future__ import annotations

from resolute.api.identity import messages as m
from resolute.api.identity import signing_in, users
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import ADMIN, ANYONE, SELF, SIGNED_IN

VIEW = SIGNED_IN.to("user.view").outside()
OWN = SIGNED_IN.oneself()
EDIT = (ADMIN | SELF.about("user", "userId")).outside().to("user.edit")
ADMINS_ONLY = ("body.username", "body.admin", "body.active", "body.remote", "body.agentUserGroup")
"""Fields of a change that are for administrators to set."""

ROUTES = (
    operation(
        "Login",
        "POST",
        "/api/v1/auth/login",
        signing_in.login,
        ANYONE,
        request=m.Login,
        response=m.LoginAnswer,
        tag="Authentication",
    ),
    operation(
        "Logout",
        "POST",
        "/api/v1/auth/logout",
        signing_in.logout,
        OWN,
        request=m.Logout,
        response=Empty,
        tag="Authentication",
    ),
    operation(
        "CurrentUser",
        "GET",
        "/api/v1/auth/user",
        signing_in.current_user,
        OWN,
        request=m.CurrentUser,
        response=m.CurrentUserAnswer,
        tag="Authentication",
    ),
    operation("GetMe", "GET", "/api/v1/me", signing_in.me, OWN, request=m.GetMe, response=m.MeAnswer, tag="Users"),
    operation(
        "LegacyMe",
        "GET",
        "/users/me",
        signing_in.legacy_me,
        OWN,
        request=m.LegacyMe,
        response=m.LegacyMeAnswer,
        tag="Outside /api/v1",
    ),
    operation(
        "GetUsers",
        "GET",
        "/api/v1/users",
        users.get_users,
        VIEW,
        request=m.GetUsers,
        response=m.UsersAnswer,
        tag="Users",
    ),
    operation(
        "GetUserSetting",
        "GET",
        "/api/v1/users/setting",
        users.get_settings,
        OWN,
        request=m.GetUserSetting,
        response=m.SettingsAnswer,
        tag="Users",
    ),
    operation(
        "PostUserSetting",
        "POST",
        "/api/v1/users/setting",
        users.post_settings,
        OWN,
        request=m.PostUserSetting,
        response=Empty,
        tag="Users",
    ),
    operation(
        "ResetUserSetting",
        "POST",
        "/api/v1/users/setting/reset",
        users.reset_settings,
        OWN,
        request=m.ResetUserSetting,
        response=Empty,
        tag="Users",
    ),
    operation(
        "GetUser",
        "GET",
        "/api/v1/users/{userId}",
        users.get_user,
        VIEW,
        request=m.GetUser,
        response=m.UserAnswer,
        tag="Users",
    ),
    operation(
        "GetUserByUsername",
        "GET",
        "/api/v1/users/{username}/by-username",
        users.get_user_by_username,
        VIEW,
        request=m.GetUserByUsername,
        response=m.UserByUsernameAnswer,
        tag="Users",
    ),
    operation(
        "PostUser",
        "POST",
        "/api/v1/users",
        users.post_user,
        ADMIN.to("user.create").outside(),
        request=m.PostUser,
        response=m.NewUserAnswer,
        tag="Users",
    ),
    operation(
        "PatchUser",
        "PATCH",
        "/api/v1/users/{userId}",
        users.patch_user,
        EDIT.but(ADMIN.to("user.edit"), *ADMINS_ONLY),
        request=m.PatchUser,
        response=m.ChangedUserAnswer,
        tag="Users",
    ),
    operation(
        "PatchUsers",
        "PATCH",
        "/api/v1/users",
        users.patch_users,
        ADMIN.to("user.edit").outside(),
        request=m.PatchUsers,
        response=m.ActivationAnswer,
        tag="Internal",
    ),
    operation(
        "SetUserPassword",
        "POST",
        "/api/v1/users/{userId}/password",
        users.set_user_password,
        EDIT,
        request=m.SetUserPassword,
        response=m.PasswordAnswer,
        tag="Users",
    ),
)
