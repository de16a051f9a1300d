"""Whose certificate a client believes when a master speaks TLS."""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from determined.common.client import tokens
from determined.common.client.problems import ClientError


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose certificate to believe: the system's authorities, a file's or a text's, or anybody's (`verify` False).

    `server_name` is the name to expect in the certificate, where it is not the address.
    """

    cafile: str | None = None
    cadata: str | None = None
    server_name: str | None = None
    verify: bool = True

    @classmethod
    def of(cls, master: str, environment: Mapping[str, str] = os.environ) -> Trust:
        """What DET_MASTER_CERT_FILE and DET_MASTER_CERT_NAME say, then what `certs.json` keeps for this master."""
        name = environment.get("DET_MASTER_CERT_NAME") or None
        match environment.get("DET_MASTER_CERT_FILE") or None:
            case "noverify":
                return cls(server_name=name, verify=False)
            case None:
                return cls(cadata=tokens.kept_certificate(master), server_name=name)
            case file:
                return cls(cafile=file, server_name=name)

    def context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.cafile, cadata=self.cadata)
        except (OSError, ssl.SSLError) as error:
            raise ClientError(f"cannot use the master's certificate {self.cafile or ''}: {error}") from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class NamedHTTPSConnection(http.client.HTTPSConnection):
    """HTTPS to a host that presents the certificate of another name."""

    def __init__(
        self, host: str, port: int | None, timeout_s: float | None, *, context: ssl.SSLContext, server_name: str
    ) -> None:
        super().__init__(host, port, timeout=timeout_s, context=context)
        self._trusted, self._server_name = context, server_name

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._trusted.wrap_socket(self.sock, server_hostname=self._server_name)
