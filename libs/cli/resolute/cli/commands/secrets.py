"""`resolute secrets`: where the database and the wrapping keys are, for the commands that the gateway brings along."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from resolute.cli.commands.history import database_url


def show(args: Namespace) -> int:
    import resolute.api.secrets_cli as secrets

    return secrets.show(_database(args))


def rotate(args: Namespace) -> int:
    import resolute.api.secrets_cli as secrets

    file, secret = _keys(args)
    return secrets.rotate(_database(args), args.keys or file, secret)


def forget(args: Namespace) -> int:
    import resolute.api.secrets_cli as secrets

    return secrets.forget(_database(args), args.whose)


def _database(args: Namespace) -> str:
    if _configured(args):
        from resolute.api.settings import load

        return load().database_url
    return database_url(args)


def _keys(args: Namespace) -> tuple[Path | None, bytes]:
    """The file of the wrapping keys, and the cluster's secret: as a gateway here is told, or of an embedded cluster."""
    if _configured(args):
        from resolute.api.settings import load

        known = load()
        return known.sealing_keys, known.secret.get_secret_value().encode()
    from resolute.deploy import commands

    return commands.sealing_keys(args.cluster_name, args.data_dir)


def _configured(args: Namespace) -> bool:
    """Whether this is the place of a service that is told its settings, as a container of `compose/` is."""
    return bool(os.environ.get("RESOLUTE_CONFIG")) and not args.database_url and not args.data_dir
