"""The messages about access tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Flag, Needed, OrAbsent, WireEnum, items, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

Ids = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]
Description = Annotated[str, text(1000)]


class TokenType(WireEnum, wire_name="v1TokenType"):
    UNSPECIFIED = "TOKEN_TYPE_UNSPECIFIED"
    USER_SESSION = "TOKEN_TYPE_USER_SESSION"
    ACCESS_TOKEN = "TOKEN_TYPE_ACCESS_TOKEN"


class TokenInfo(Message, wire_name="v1TokenInfo"):
    id: int
    user_id: int
    expiry: OrAbsent[datetime] = None
    created_at: OrAbsent[datetime] = None
    token_type: TokenType = TokenType.ACCESS_TOKEN
    revoked: bool = False
    description: str = ""


class NewToken(Input, wire_name="v1PostAccessTokenRequest"):
    user_id: Needed[Id] = 0
    lifespan: OrAbsent[Name] = None
    """How long it counts, as a duration such as `720h`; `-1` for as long as the cluster allows. Without one, for as
    long as the cluster says."""
    description: OrAbsent[Description] = None


class PostAccessToken(Request):
    body: InBody[NewToken]


class NewTokenAnswer(Message, wire_name="v1PostAccessTokenResponse"):
    token: str
    """The token itself, which is shown this once."""
    token_id: int


class SortTokensBy(WireEnum, wire_name="v1GetAccessTokensRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    USER_ID = "SORT_BY_USER_ID"
    EXPIRY = "SORT_BY_EXPIRY"
    CREATED_AT = "SORT_BY_CREATED_AT"
    TOKEN_TYPE = "SORT_BY_TOKEN_TYPE"
    REVOKED = "SORT_BY_REVOKED"
    DESCRIPTION = "SORT_BY_DESCRIPTION"


class GetAccessTokens(Request):
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    show_inactive: InQuery[Flag] = False
    """Those that were revoked or have expired too."""
    sort_by: InQuery[SortTokensBy] = SortTokensBy.UNSPECIFIED
    token_ids: InQuery[Ids] = ()
    username: InQuery[Name] = ""
    """Whose tokens."""


class TokensAnswer(Message, wire_name="v1GetAccessTokensResponse"):
    token_info: tuple[TokenInfo, ...]
    pagination: Pagination


class TokenChange(Input, wire_name="v1PatchAccessTokenRequest"):
    token_id: Needed[Id] = 0
    """The one in the path counts."""
    description: OrAbsent[Description] = None
    set_revoked: Flag = False


class PatchAccessToken(Request):
    token_id: InPath[Id]
    body: InBody[TokenChange]


class ChangedTokenAnswer(Message, wire_name="v1PatchAccessTokenResponse"):
    token_info: TokenInfo
