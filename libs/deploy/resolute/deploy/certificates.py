"""A certificate authority of the cluster's own, and certificates by it, made with the openssl program.

The authority lasts for ten years. A certificate lasts for 397 days, the most that browsers believe, unless it is for
other eyes only; it is made anew at a start within its last 60, or when it is to be good for other names.
"""

from __future__ import annotations

import ipaddress
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from resolute.deploy.paths import write_private
from resolute.proto.errors import Refused

AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
AUTHORITY_DAYS, DAYS, RENEW_DAYS = 3650, 397, 60
_WHO = ("subject", "issuer")


def ensure_authority(folder: Path, cluster_name: str) -> None:
    """It is in `folder` when this returns.

    Raises Refused, as all of these do, where there is no openssl, or it cannot do it.
    """
    if (folder / AUTHORITY).exists():
        return
    _new_key(folder / AUTHORITY_KEY)
    subject = f"/CN=Resolute cluster {_plain(cluster_name)}"
    _openssl(
        *("req", "-x509", "-new", "-key", folder / AUTHORITY_KEY, "-sha256", "-days", AUTHORITY_DAYS),
        *("-subj", subject, "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", folder / AUTHORITY),
    )


def ensure_certificate(folder: Path, owner: str, names: Sequence[str], days: int = DAYS) -> None:
    """`owner`.crt and its key, by the authority in `folder`, are good there for these names for a while."""
    wanted = alternatives(names)
    if _is_good(folder, owner, wanted):
        return
    _new_key(folder / f"{owner}.key")
    _sign(folder, owner, wanted, days)
    write_private(folder / f"{owner}.names", wanted)


def alternatives(names: Sequence[str]) -> str:
    """Names and addresses in the words of a certificate's subjectAltName, each once."""
    return ",".join(f"{'IP' if _is_address(name) else 'DNS'}:{name}" for name in dict.fromkeys(names))


def names_in(file: Path) -> list[str]:
    """The names and addresses that a certificate is for, names first."""
    printed = _openssl("x509", "-in", file, "-noout", "-ext", "subjectAltName")
    return [name for kind in ("DNS:", "IP Address:") for name in re.findall(rf"{kind}([^\s,]+)", printed)]


def is_self_signed(file: Path) -> bool:
    """Whether the certificate is signed by its own key, and by no authority."""
    subject, issuer = (_openssl("x509", "-in", file, "-noout", f"-{who}").partition("=")[2] for who in _WHO)
    return subject == issuer


def _is_good(folder: Path, owner: str, wanted: str) -> bool:
    names, made = folder / f"{owner}.names", folder / f"{owner}.crt"
    if not made.exists() or not names.exists() or names.read_text() != wanted:
        return False
    lasting = ["openssl", "x509", "-in", str(made), "-noout", "-checkend", str(RENEW_DAYS * 86400)]
    return subprocess.run(lasting, capture_output=True, check=False).returncode == 0


def _sign(folder: Path, owner: str, wanted: str, days: int) -> None:
    request, extensions = folder / "request.pem", folder / "extensions"
    _openssl("req", "-new", "-key", folder / f"{owner}.key", "-subj", f"/CN=Resolute {owner}", "-out", request)
    write_private(
        extensions,
        f"subjectAltName={wanted}\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n"
        "keyUsage=critical,digitalSignature\nauthorityKeyIdentifier=keyid\n",
    )
    _openssl(
        *("x509", "-req", "-in", request, "-CA", folder / AUTHORITY, "-CAkey", folder / AUTHORITY_KEY),
        *("-CAcreateserial", "-sha256", "-days", days, "-extfile", extensions, "-out", folder / f"{owner}.crt"),
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
        raise Refused("cannot work with certificates: the openssl program is missing here; install it") from None
    except subprocess.CalledProcessError as error:
        raise Refused(f"cannot work with certificates: openssl {arguments[0]}: {error.stderr.strip()}") from error


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    """As it may stand in a subject."""
    return "".join(letter if letter.isalnum() or letter in " ._-" else "-" for letter in name)
