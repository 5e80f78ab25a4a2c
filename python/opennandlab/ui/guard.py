"""Who may ask: what a page of another origin, or another user, could try is refused here.

- `Host` must name this server: a foreign name that was pointed at this address (DNS rebinding) does
  not.
- With a token, a request has it in a cookie, got once by the address that the command prints.
- What changes something comes from our own pages: `Origin` is ours, and a header has the word that
  only our pages know.
- A page loads scripts, styles and data from here alone, and is in no frame.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Forms are small: a larger body is something else.
BODY_BYTES_MAX = 1 << 20
TOKEN_CHARS_MIN = 16
CSRF_HEADER = "x-opennandlab"
SAFE = ("GET", "HEAD")
# Reached without a token: where it is given, and what that page is drawn with.
OPEN_PATHS = {"/login", "/static/report.css", "/static/ui.css", "/static/icon.svg"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Door:
    """Under which names this server is asked, and what one must know.

    Args:
        host: The address that it listens on.
        port: Its port.
        token: What the first request shows; None for an open door on the loopback address.
        csrf: What a request that changes something shows; our pages have it.
        secret: Of this process.
    """

    host: str
    port: int
    token: str | None = None
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers do not keep the ports of a host apart."""
        return f"opennandlab-{self.port}"

    @property
    def session(self) -> str:
        """What the cookie holds: whoever reads it does not have the token."""
        return hmac.new(self.secret, b"session", hashlib.sha256).hexdigest()

    @property
    def url(self) -> str:
        """The address of the first page; any address of the machine is this one."""
        host = self.host if self.host not in {"0.0.0.0", "::", ""} else "127.0.0.1"  # noqa: S104
        shown = f"[{host}]" if ":" in host else host
        entry = "" if self.token is None else "?" + urlencode({"token": self.token})
        return f"http://{shown}:{self.port}/{entry}"

    def knows(self, host: str) -> bool:
        """Tell whether a `Host` names this server.

        >>> door = Door("127.0.0.1", 8765)
        >>> door.knows("localhost:8765"), door.knows("evil.example:8765"), door.knows("localhost")
        (True, False, False)
        """
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if parts.netloc != host or parts.username is not None or (port or 80) != self.port:
            return False
        if name in LOOPBACK or name == self.host.lower():
            return True
        if is_loopback(self.host):
            return False
        return _is_address(name) or name == socket.gethostname().lower()

    def is_own(self, origin: str, host: str) -> bool:
        """Tell whether an `Origin` is that of our pages, under the name they were asked by."""
        return origin == f"http://{host}" and self.knows(host)

    def has_session(self, cookies: str) -> bool:
        """Tell whether a `Cookie` header has what the token was changed for."""
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and same(found.value, self.session)


def same(one: str, other: str) -> bool:
    """Compare two secrets in a time that says nothing of where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def is_loopback(host: str) -> bool:
    """Tell whether an address reaches this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        """Take what is guarded."""
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or let it through and add what its answer must say."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = POLICY.format(nonce=nonce)
                headers["content-security-policy"] = policy
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, answered)
            return
        await self.app(scope, _bounded(receive), answered)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return why a request is refused, or where it goes first; None to let it through."""
        headers = Headers(scope=scope)
        return (
            self._of_origin(scope, headers)
            or self._of_token(scope, headers)
            or self._of_change(scope, headers)
        )

    def _of_origin(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse what was meant for another server, comes from a foreign page, or is too long."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.door.knows(hosts[0]):
            return _refused(403, "this server has another name; accepted: the address it printed")
        is_change = scope["method"] not in SAFE
        if is_change and not self.door.is_own(headers.get("origin", ""), hosts[0]):
            return _refused(403, "asked by a page of another origin")
        if _is_too_long(headers):
            return _refused(413, f"accepted: at most {BODY_BYTES_MAX} bytes")
        return None

    def _of_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Ask for the token, where there is one."""
        if self.door.token is None or scope["path"] in OPEN_PATHS:
            return None
        if (entered := self._entered(scope)) is not None:
            return entered
        if self.door.has_session(headers.get("cookie", "")):
            return None
        if scope["method"] not in SAFE or "text/html" not in headers.get("accept", ""):
            return _refused(401, "no token; the command that started this printed it")
        return RedirectResponse("/login", 303)

    def _of_change(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse a change that none of our pages asks for."""
        if scope["method"] in SAFE or scope["path"] == "/login":
            return None
        if same(headers.get(CSRF_HEADER, ""), self.door.csrf):
            return None
        return _refused(403, "this page is of an earlier start; load it again")

    def _entered(self, scope: Scope) -> Response | None:
        """Change a right token in an address for a cookie, and take it out of the address."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if not tokens or scope["method"] != "GET" or not admits(self.door, tokens[0]):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # A path that begins with two slashes would lead to another server.
        path = "/" + scope["path"].lstrip("/\\")
        return with_session(RedirectResponse(path + (f"?{rest}" if rest else ""), 303), self.door)


def admits(door: Door, token: str) -> bool:
    """Tell whether a token is the right one."""
    return door.token is not None and same(token, door.token)


def with_session(response: Response, door: Door) -> Response:
    """Give the cookie that stands for the token."""
    response.set_cookie(door.cookie, door.session, httponly=True, samesite="strict", path="/")
    return response


def _is_too_long(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return not length.isdigit() or int(length) > BODY_BYTES_MAX


def _bounded(receive: Receive) -> Receive:
    """Return what hands on at most so much of a body whose length nobody said."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > BODY_BYTES_MAX:
                return {"type": "http.disconnect"}
        return message

    return limited


def _refused(status: int, text: str) -> Response:
    return PlainTextResponse(f"refused: {text}\n", status)
