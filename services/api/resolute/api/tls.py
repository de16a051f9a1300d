"""The gateway's certificate, where it speaks TLS itself."""

from __future__ import annotations

import ssl
from pathlib import Path

from resolute.proto.errors import InvalidConfig


def context(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """What to listen with; None where neither file is given. Raises InvalidConfig, naming the setting.

    `cert` begins with the gateway's own certificate; those between it and an authority may follow.
    """
    if cert is None and key is None:
        return None
    for setting, file in (("tls_cert", cert), ("tls_key", key)):
        if file is None:
            raise InvalidConfig(f"api.{setting} is not set: a certificate and its key go together")
        if not file.is_file():
            raise InvalidConfig(f"api.{setting}: there is no file {file}")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(str(cert), str(key))
    except (OSError, ssl.SSLError) as error:
        raise InvalidConfig(f"api.tls_cert, api.tls_key: {cert} and {key} cannot be used together: {error}") from error
    return made
