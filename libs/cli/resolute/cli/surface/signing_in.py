"""`det auth`: signing in through a provider of single sign-on (SSO)."""

from __future__ import annotations

from resolute.cli.tree import Command, arg, flag

AUTH = Command(
    "auth",
    "sign in through a provider of single sign-on (SSO)",
    commands=(
        Command("list-providers", "list the SSO providers of the cluster", run="auth:list_providers"),
        Command(
            "login",
            "sign in through an SSO provider",
            run="auth:login",
            args=(
                arg("-p", "--provider", help="name of the SSO provider"),
                flag("--headless", help="do not open a browser on this machine"),
            ),
        ),
    ),
)

OF_DET = (AUTH,)
