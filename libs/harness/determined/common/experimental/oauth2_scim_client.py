"""Clients of single sign-on, as the SDK shows them."""

from __future__ import annotations


class Oauth2ScimClient:
    def __init__(self, client_id: str, domain: str, name: str, secret: str | None = None):
        self.id = client_id
        self.secret = secret
        self.domain = domain
        self.name = name
