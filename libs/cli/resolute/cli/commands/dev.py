"""For people who write programs against the master: the token, and requests by hand."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace

from resolute.cli.errors import CliError
from resolute.cli.login import session


def auth_token(args: Namespace) -> None:
    print(session(args).token)


def curl(args: Namespace) -> int:
    """Run curl with the user's token; the status is curl's. The token travels in a file, which other users of this
    machine cannot read, as they can read the arguments of a process."""
    if shutil.which("curl") is None:
        raise CliError("there is no program named curl on the PATH; install it")
    opened = session(args)
    with tempfile.NamedTemporaryFile("w", suffix=".headers") as headers:
        headers.write(f"Authorization: Bearer {opened.token}\n")
        headers.flush()
        url = f"{opened.master}/{args.path.lstrip('/')}"
        command = ["curl", "--silent", "--show-error", "-H", f"@{headers.name}", url, *args.curl_args]
        if args.x:
            print(shlex.join(command), file=sys.stderr)
        return subprocess.run(command, check=False).returncode
