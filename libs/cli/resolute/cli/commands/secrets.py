"""`resolute secrets`: finds the database and the wrapping keys; the gateway's own code shows or changes the keys."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from resolute.cli.commands.history import database_url


def show(args: Namespace) -> int:
    from resolute.deploy import gateway_tools

    return gateway_tools.show_keys(_database(args))


def rotate(args: Namespace) -> int:
    from resolute.deploy import gateway_tools

    file, secret = _keys(args)
    return gateway_tools.rotate_keys(_database(args), args.keys or file, secret)


def forget(args: Namespace) -> int:
    from resolute.deploy import gateway_tools

    return gateway_tools.forget_keys(_database(args), args.whose)


def _database(args: Namespace) -> str:
    if _configured(args):
        from resolute.deploy import gateway_tools

        return gateway_tools.configured_database()
    return database_url(args)


def _keys(args: Namespace) -> tuple[Path | None, bytes]:
    """The file of the wrapping keys, and the cluster's secret: from the settings of a gateway, or of an embedded
    cluster."""
    if _configured(args):
        from resolute.deploy import gateway_tools

        return gateway_tools.configured_keys()
    from resolute.deploy import commands

    return commands.sealing_keys(args.cluster_name, args.data_dir)


def _configured(args: Namespace) -> bool:
    """Whether the environment has the settings of a service, as in a container of `compose/`."""
    return bool(os.environ.get("RESOLUTE_CONFIG")) and not args.database_url and not args.data_dir
