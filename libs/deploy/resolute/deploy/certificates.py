"""A certificate authority of the cluster's own, and the gateway's certificate by it, made with the openssl program.

The authority lasts for ten years. The gateway's certificate lasts for 397 days, the most that browsers believe, and is
made anew at a start within its last 60, or when it is to be good for other names.
"""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Sequence
from pathlib import Path

from resolute.deploy.places import write_private
from resolute.proto.errors import Refused

AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
CERT, KEY = "tls.crt", "tls.key"
_NAMES = "tls.names"
AUTHORITY_DAYS, DAYS, RENEW_DAYS = 3650, 397, 60


def ensure(folder: Path, cluster_name: str, names: Sequence[str]) -> None:
    """An authority, and a certificate for `names` that is good for a while, are in `folder` when this returns.

    Raises Refused where there is no openssl, or it cannot do it.
    """
    if not (folder / AUTHORITY).exists():
        _new_key(folder / AUTHORITY_KEY)
        subject = f"/CN=Resolute cluster {_plain(cluster_name)}"
        _openssl(
            *("req", "-x509", "-new", "-key", folder / AUTHORITY_KEY, "-sha256", "-days", AUTHORITY_DAYS),
            *("-subj", subject, "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", folder / AUTHORITY),
        )
    wanted = alternatives(names)
    if _is_good(folder, wanted):
        return
    _new_key(folder / KEY)
    _sign(folder, wanted)
    write_private(folder / _NAMES, wanted)


def alternatives(names: Sequence[str]) -> str:
    """Names and addresses in the words of a certificate's subjectAltName, each once."""
    return ",".join(f"{'IP' if _is_address(name) else 'DNS'}:{name}" for name in dict.fromkeys(names))


def _is_good(folder: Path, wanted: str) -> bool:
    named = (folder / _NAMES).read_text() if (folder / _NAMES).exists() else ""
    if named != wanted or not (folder / CERT).exists():
        return False
    lasting = ["openssl", "x509", "-in", str(folder / CERT), "-noout", "-checkend", str(RENEW_DAYS * 86400)]
    return subprocess.run(lasting, capture_output=True, check=False).returncode == 0


def _sign(folder: Path, wanted: str) -> None:
    request, extensions = folder / "request.pem", folder / "extensions"
    _openssl("req", "-new", "-key", folder / KEY, "-subj", "/CN=Resolute gateway", "-out", request)
    write_private(
        extensions,
        f"subjectAltName={wanted}\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n"
        "keyUsage=critical,digitalSignature\nauthorityKeyIdentifier=keyid\n",
    )
    _openssl(
        *("x509", "-req", "-in", request, "-CA", folder / AUTHORITY, "-CAkey", folder / AUTHORITY_KEY),
        *("-CAcreateserial", "-sha256", "-days", DAYS, "-extfile", extensions, "-out", folder / CERT),
    )
    request.unlink()
    extensions.unlink()


def _new_key(file: Path) -> None:
    write_private(file, _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))


def _openssl(*arguments: object) -> str:
    command = ["openssl", *map(str, arguments)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise Refused("cannot make certificates: the openssl program is missing here; install it") from None
    except subprocess.CalledProcessError as error:
        raise Refused(f"cannot make certificates: openssl {arguments[0]}: {error.stderr.strip()}") from error


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    """As it may stand in a subject."""
    return "".join(letter if letter.isalnum() or letter in " ._-" else "-" for letter in name)
