"""Access tokens: a token that a script signs in with, which counts until it expires or is revoked."""

from __future__ import annotations

from datetime import datetime, timedelta

from resolute.api import wire
from resolute.api.access_tokens import messages as m
from resolute.api.access_tokens.queries import QUERIES, TokenQueries, TokenRow, Wanted
from resolute.api.call import Call
from resolute.api.identity.shown import queries_of as users_of
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.routing import ADMIN, SIGNED_IN, Access, Owned
from resolute.api.wire import WireError
from resolute.config.durations import seconds
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.tokens import ChangeAccessToken, CreateAccessToken

LONGEST = "-1"
"""The lifespan that stands for the longest that the cluster allows."""

OF_OTHERS = "token.others"
VIEW_OTHERS = ADMIN.to(f"{OF_OTHERS}.view").outside()
CREATE_FOR_OTHERS = ADMIN.to(f"{OF_OTHERS}.create").outside()
EDIT_OTHERS = ADMIN.to(f"{OF_OTHERS}.edit").outside()

VIEW = SIGNED_IN.to("token.view").outside().showing(VIEW_OTHERS.permission)
CREATE = ADMIN.to("token.create").outside().showing(CREATE_FOR_OTHERS.permission)
EDIT = ADMIN.to("token.edit").outside().showing(EDIT_OTHERS.permission).showing(VIEW_OTHERS.permission)


async def post_access_token(call: Call, request: m.PostAccessToken) -> m.NewTokenAnswer:
    """Make an access token. The answer has its text, which nothing shows again."""
    body, now = request.body, call.gateway.context.now()
    expires_at = _end(call, body.lifespan, now)
    if not _may(call, CREATE_FOR_OTHERS, body.user_id):
        raise WireError(wire.PERMISSION_DENIED, "user does not have permission to create access tokens for others")
    user = await users_of(call).user(body.user_id)
    if user is None:
        raise NotFound(f"userId: user {body.user_id} not found")
    if not user.active:
        raise InvalidConfig(f"userId: user {user.username!r} is not active; activate the user first")
    reply = await call.send(CreateAccessToken(user.id, body.description or "", now, expires_at))
    token_id: int = reply.data["token_id"]
    return m.NewTokenAnswer(token=await call.gateway.sessions.keep_token(token_id), token_id=token_id)


async def get_access_tokens(call: Call, request: m.GetAccessTokens) -> m.TokensAnswer:
    """The access tokens of all users for those who may see them, and else one's own."""
    wanted = Wanted(
        live_at=None if request.show_inactive else call.gateway.context.now(),
        user_id=None if call.may(VIEW_OTHERS, Owned("user", "")) else call.principal.user_id,
        username=request.username,
        ids=request.token_ids,
    )
    found = await _queries(call).tokens(
        call.outside,
        wanted,
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
    return m.TokensAnswer(token_info=tuple(map(_shown, found.rows)), pagination=Pagination.of(found.page))


async def patch_access_token(call: Call, request: m.PatchAccessToken) -> m.ChangedTokenAnswer:
    """Describe a token anew, or revoke it for good."""
    row = await _queries(call).token(request.token_id)
    if row is None or not (_may(call, VIEW_OTHERS, row.user_id) or _may(call, EDIT_OTHERS, row.user_id)):
        raise NotFound(f"Token with id: {request.token_id} not found")
    if not _may(call, EDIT_OTHERS, row.user_id):
        raise WireError(wire.PERMISSION_DENIED, "user does not have permission to change access tokens of others")
    body, now = request.body, call.gateway.context.now()
    await call.send(ChangeAccessToken(row.id, now, description=body.description, revoke=body.set_revoked))
    if body.set_revoked:
        call.gateway.sessions.forget()
    changed = await _queries(call).token(request.token_id)
    assert changed is not None  # no token is ever forgotten
    return m.ChangedTokenAnswer(token_info=_shown(changed))


def _may(call: Call, of_others: Access, user_id: int) -> bool:
    return user_id == call.principal.user_id or call.may(of_others, Owned("user", str(user_id)))


def _end(call: Call, lifespan: str | None, now: datetime) -> datetime:
    """Raises InvalidConfig for a lifespan that is none, or is longer than the cluster allows."""
    limits = call.gateway.settings.token
    longest_s = limits.longest_days * 86_400.0
    if lifespan is None:
        return now + timedelta(days=limits.default_days)
    if lifespan == LONGEST:
        return now + timedelta(days=limits.longest_days)
    try:
        wanted_s = seconds(lifespan)
    except ValueError as error:
        raise InvalidConfig(f"lifespan: {error}, or {LONGEST} for the longest") from error
    if not 0 < wanted_s <= longest_s:
        raise InvalidConfig(
            f"lifespan: token Lifespan must be less than max token lifespan: expected more than 0 s and at most "
            f"{limits.longest_days} days; found {lifespan!r}"
        )
    return now + timedelta(seconds=wanted_s)


def _shown(row: TokenRow) -> m.TokenInfo:
    return m.TokenInfo(
        id=row.id,
        user_id=row.user_id,
        expiry=row.expires_at,
        created_at=row.created_at,
        revoked=row.revoked,
        description=row.description,
    )


def _queries(call: Call) -> TokenQueries:
    return call.gateway.ports.of(QUERIES)


TAG = "Tokens"
PATH = "/api/v1/tokens"

ROUTES = (
    operation(
        "PostAccessToken",
        "POST",
        PATH,
        post_access_token,
        CREATE,
        request=m.PostAccessToken,
        response=m.NewTokenAnswer,
        tag=TAG,
    ),
    operation(
        "GetAccessTokens",
        "GET",
        PATH,
        get_access_tokens,
        VIEW,
        request=m.GetAccessTokens,
        response=m.TokensAnswer,
        tag=TAG,
    ),
    operation(
        "PatchAccessToken",
        "PATCH",
        f"{PATH}/{{tokenId}}",
        patch_access_token,
        EDIT,
        request=m.PatchAccessToken,
        response=m.ChangedTokenAnswer,
        tag=TAG,
    ),
)
