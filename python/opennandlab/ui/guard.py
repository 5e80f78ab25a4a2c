"""Which requests are answered: those of pages of another origin, or of another user, are refused.

- `Host` must name this server. In DNS rebinding a foreign name resolves to this address, so names
  other than ours are refused; a literal address is no name, and cannot be rebound.
- With a token, a request has a cookie, set once by the address that the command prints.
- A change must come from our own pages: `Origin` is ours, and a header holds a word that only our
  pages contain.
- A page loads scripts, styles and data from this server alone, and is in no frame.
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
# Forms are far smaller.
BODY_BYTES_MAX = 1 << 20
TOKEN_CHARS_MIN = 16
CSRF_HEADER = "x-opennandlab"
SAFE = ("GET", "HEAD")
# Reached without a token: the page that asks for it, with its style and icon.
OPEN_PATHS = {"/login", "/static/report.css", "/static/ui.css", "/static/icon.svg"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    # With `no-referrer` a browser sends `Origin: null` with a form, and the token is refused.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Door:
    """The address of a server, and the secrets that requests must show.

    Args:
        host: The address that it listens on.
        port: Its port.
        token: Secret of the first request; None on the loopback address: no request needs one.
        csrf: Secret of requests that change something; our pages contain it.
        secret: Key of this process, from which the cookie is derived.
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
        """Value of the cookie, from which the token cannot be computed."""
        return hmac.new(self.secret, b"session", hashlib.sha256).hexdigest()

    @property
    def url(self) -> str:
        """URL of the first page; if the server listens on all addresses, by the loopback one."""
        host = self.host if self.host not in {"0.0.0.0", "::", ""} else "127.0.0.1"  # noqa: S104
        shown = f"[{host}]" if ":" in host else host
        entry = "" if self.token is None else "?" + urlencode({"token": self.token})
        return f"http://{shown}:{self.port}/{entry}"

    def knows(self, host: str) -> bool:
        """Return whether a `Host` names this server.

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
        # The server listens beyond this machine, whose addresses are many: any literal one is
        # accepted, since only a name can be rebound, and the name of the machine is its own.
        return _is_address(name) or name == socket.gethostname().lower()

    def is_own(self, origin: str, host: str) -> bool:
        """Return whether an `Origin` is that of our pages, under the name they were asked by."""
        return origin == f"http://{host}" and self.knows(host)

    def admits(self, token: str) -> bool:
        """Return whether a token is the right one."""
        return self.token is not None and same(token, self.token)

    def with_session(self, response: Response) -> Response:
        """Set the cookie that replaces the token, and return the response."""
        response.set_cookie(self.cookie, self.session, httponly=True, samesite="strict", path="/")
        return response

    def has_session(self, cookies: str) -> bool:
        """Return whether a `Cookie` header holds the cookie that replaces the token."""
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and same(found.value, self.session)


def same(one: str, other: str) -> bool:
    """Compare two secrets in a time that does not depend on the place where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def is_loopback(host: str) -> bool:
    """Return whether an address reaches this machine alone.

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
    """Middleware that refuses requests, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        """Take the application that is guarded, and the door to it."""
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request or pass it on; the answer has the headers of security either way."""
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
        """Return the answer to a request that is refused or redirected; None to pass it on."""
        headers = Headers(scope=scope)
        return (
            self._of_origin(scope, headers)
            or _of_length(headers)
            or self._of_token(scope, headers)
            or self._of_change(scope, headers)
        )

    def _of_origin(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse a request to another server, or a change that a foreign page asks for."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.door.knows(hosts[0]):
            return _refused(403, "this server has another name; accepted: the address it printed")
        is_change = scope["method"] not in SAFE
        if is_change and not self.door.is_own(headers.get("origin", ""), hosts[0]):
            return _refused(403, "asked by a page of another origin")
        return None

    def _of_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse or redirect a request without the cookie, if the server has a token."""
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
        """Refuse a change without the secret of our pages."""
        if scope["method"] in SAFE or scope["path"] == "/login":
            return None
        if same(headers.get(CSRF_HEADER, ""), self.door.csrf):
            return None
        return _refused(403, "this page belongs to an earlier start; load it again")

    def _entered(self, scope: Scope) -> Response | None:
        """Return a redirection that sets the cookie, if the address has the right token."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if not tokens or scope["method"] != "GET" or not self.door.admits(tokens[0]):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # A path that begins with two slashes would lead to another server.
        path = "/" + scope["path"].lstrip("/\\")
        return self.door.with_session(RedirectResponse(path + (f"?{rest}" if rest else ""), 303))


def _of_length(headers: Headers) -> Response | None:
    """Refuse a body that is too long, or whose length is no number."""
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) <= BODY_BYTES_MAX:
        return None
    return _refused(413, f"the body is too long; accepted: at most {BODY_BYTES_MAX} bytes")


def _bounded(receive: Receive) -> Receive:
    """Return a receiver that breaks off a body beyond the limit: one in chunks states no length."""
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
