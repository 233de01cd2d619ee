"""What every HTTP request passes before a transport sees it: Host and Origin, then the token.

One gate for all paths: the package's SSE transport checks only when told to, and then
answers a refusal with an exception.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openxr_agentic.mcp.transports.access import Access

_PREFLIGHT_SECONDS: Final = 600


def gate(access: Access) -> list[Middleware]:
    """Return the checks as middleware, the first one outermost.

    A request is refused by its Host or Origin before its token is looked at, so that
    a foreign page learns nothing about the token. None of them reads a body.
    """
    checks = [Middleware(_AddressCheck, access=access)]
    if access.allow_origins:
        checks.append(
            # Before the token: a browser asks first, without it, whether it may send it.
            Middleware(
                CORSMiddleware,
                allow_origins=access.origins_for_browsers,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["*"],
                expose_headers=["Mcp-Session-Id"],
                max_age=_PREFLIGHT_SECONDS,
            )
        )
    if access.token is not None:
        checks.append(Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_OneToken(access.token))))
        checks.append(Middleware(RequireAuthMiddleware, required_scopes=[]))
    return checks


class _AddressCheck:
    """Refuses requests for a foreign Host or from a foreign Origin."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
            refusal = self._access.refusal(hosts, origins, scope.get("server"))
            if refusal is not None:
                await PlainTextResponse(refusal.text, refusal.status)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _OneToken:
    """Knows one token, and tells nobody by its speed how much of a guess was right."""

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        # Without the token itself: what is passed on with a request may be logged.
        self._accepted = AccessToken(token="", client_id="openxr-agentic", scopes=[])

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the one client that there is, if the token is the right one."""
        # As bytes: compare_digest takes no text beyond ASCII, and a header may have it.
        right = hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token)
        return self._accepted if right else None
