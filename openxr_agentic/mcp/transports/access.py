"""Who may talk to the server: the names that it answers to, the pages that may ask, and a token.

A page in the user's browser can send requests to this machine, and by DNS rebinding
even under a name of its own. So every request must name this server as a Host that
only this machine or its user can have chosen, and one that a page sent must come
from such a page. Beyond loopback there must be a token too.

Nothing here needs more than the standard library; `openxr_agentic.mcp.transports.gate` puts it in
front of the web server.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.mcp.transports.ports import address_of, is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TOKEN_VARIABLE: Final = "OPENXR_AGENTIC_TOKEN"
"""The environment variable that holds the token."""

SHORTEST_TOKEN: Final = 16
LONGEST_TOKEN: Final = 4096

_HOW_TO_MAKE: Final = "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes a good one"
_NAME_AND_PORT: Final = re.compile(r"(?P<name>\[[0-9A-Za-z:.%]+\]|[0-9A-Za-z._-]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][0-9A-Za-z+.-]*)://(?P<rest>.*)", re.ASCII)
_WEB_PORTS: Final = {"http": 80, "https": 443}
_MOST_PARSED: Final = 256


class _Host(NamedTuple):
    """A host as told from others: its name in lower case, or its address in the shortest form."""

    name: str
    port: int | None


class _Origin(NamedTuple):
    scheme: str
    host: _Host

    def __str__(self) -> str:
        """Return it as browsers write it."""
        name = f"[{self.host.name}]" if ":" in self.host.name else self.host.name
        return f"{self.scheme}://{name}{'' if self.host.port is None else f':{self.host.port}'}"


class Refusal(NamedTuple):
    """How a request is answered that is let no further.

    Attributes:
        status: The HTTP status.
        text: For whoever set the server up.
    """

    status: int
    text: str


_WRONG_HOST: Final = Refusal(
    421,
    "Refused: this server does not answer to the Host of this request. Use a loopback name or the address that it "
    "listens on, or start it with --allow-host NAME.\n",
)
_WRONG_ORIGIN: Final = Refusal(
    403,
    "Refused: pages of this Origin may not use this server. If this one should, start it with --allow-origin ORIGIN.\n",
)


@dataclass(frozen=True)
class Access:
    """What a request must have to be served.

    Args:
        token: What clients send as ``Authorization: Bearer TOKEN``; None: nothing. It is not in the object's text.
        allow_hosts: More names in requests' Host, as ``xr.example`` (with any port) or ``xr.example:8720``.
            Loopback names and the address that is listened on always pass.
        allow_origins: Web pages that may use the server, as ``https://app.example``. Pages from
            loopback names always pass.

    Raises:
        ConfigurationError: The token, a host or an origin cannot be used.
    """

    token: str | None = field(default=None, repr=False)
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is not None:
            _require_good_token(self.token, "The token")
        _ = self._hosts, self._origins  # a wrong one is an error now, not in the first request

    @classmethod
    def load(
        cls,
        token_file: Path | None = None,
        *,
        allow_hosts: Sequence[str] = (),
        allow_origins: Sequence[str] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> Access:
        """Return the access that options and OPENXR_AGENTIC_TOKEN ask for.

        Args:
            token_file: A file with the token and nothing else; it wins over the variable.
            allow_hosts: As for the class.
            allow_origins: As for the class.
            environment: Where the variable is looked up.

        Raises:
            ConfigurationError: One of them cannot be used, or others can read the file.
        """
        token = environment.get(TOKEN_VARIABLE) if token_file is None else _read_token(token_file)
        if token is not None:
            _require_good_token(token, TOKEN_VARIABLE if token_file is None else f"The token in {token_file}")
        return cls(token, tuple(allow_hosts), tuple(allow_origins))

    def require_token_beyond_loopback(self, host: str) -> None:
        """Refuse to serve other machines without a token.

        Args:
            host: The address that is listened on.

        Raises:
            ConfigurationError: There is no token, and `host` can be reached from elsewhere.
        """
        if self.token is None and not is_loopback(address_of(host)):
            raise ConfigurationError(
                f"Other machines can reach {host}, so the server needs a token there: set {TOKEN_VARIABLE}, or give a "
                f"file that holds one with --token-file ({_HOW_TO_MAKE}). Without a token, listen on a loopback "
                "address (the default)."
            )

    def refusal(self, hosts: Sequence[str], origins: Sequence[str], local: tuple[str, int] | None) -> Refusal | None:
        """Return how a request is refused because of where it says it goes or comes from, or None.

        Args:
            hosts: The values of its Host headers.
            origins: The values of its Origin headers; programs other than browsers send none.
            local: Address and port of this machine on which it arrived; None when unknown.
        """
        here = None if local is None else _Host(_canonical(local[0]), local[1])
        host = _parsed_host(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._answers_to(host, here):
            return _WRONG_HOST
        if not origins:
            return None
        origin = _parsed_origin(origins[0]) if len(origins) == 1 else None
        return None if origin is not None and self._accepts_page(origin, here) else _WRONG_ORIGIN

    def _answers_to(self, host: _Host, here: _Host | None) -> bool:
        if _is_loopback_name(host.name) or (here is not None and host.name == here.name):
            return True  # with any port: a tunnel may have another one at its other end
        ports = (None, host.port) if host.port is not None else (None, *_WEB_PORTS.values())
        return any(_Host(host.name, port) in self._hosts for port in ports)

    def _accepts_page(self, origin: _Origin, here: _Host | None) -> bool:
        if origin.scheme in _WEB_PORTS and _is_loopback_name(origin.host.name):
            return True
        return origin in self._origins or (origin.scheme == "http" and origin.host == here)

    @cached_property
    def _hosts(self) -> frozenset[_Host]:
        return frozenset(_allowed_host(text) for text in self.allow_hosts)

    @cached_property
    def _origins(self) -> frozenset[_Origin]:
        return frozenset(_allowed_origin(text) for text in self.allow_origins)

    @property
    def origins_for_browsers(self) -> list[str]:
        """The origins of `allow_origins`, as browsers write them."""
        return sorted(map(str, self._origins))


# ---------------------------------------------------------------- hosts and origins


@lru_cache(_MOST_PARSED)
def _parsed_host(text: str) -> _Host | None:
    match = _NAME_AND_PORT.fullmatch(text)
    if match is None or (port := int(match["port"] or 0)) > 65535:  # noqa: PLR2004 - the highest port
        return None
    name = _canonical(match["name"])
    return _Host(name, port if match["port"] else None) if name else None


@lru_cache(_MOST_PARSED)
def _parsed_origin(text: str) -> _Origin | None:
    match = _SCHEME.fullmatch(text)
    host = None if match is None else _parsed_host(match["rest"])
    if match is None or host is None:
        return None  # "null" too: any page can make itself an origin of that name
    scheme = match["scheme"].lower()
    return _Origin(scheme, _Host(host.name, None) if host.port == _WEB_PORTS.get(scheme) else host)


@lru_cache(_MOST_PARSED)
def _canonical(name: str) -> str:
    # A final dot says that a name is complete, which these are anyhow.
    plain = name.lower().removesuffix(".")
    if plain == "localhost":
        return plain
    try:
        return str(address_of(name)).partition("%")[0]  # a zone means something on one machine only
    except ConfigurationError:
        return "" if name.startswith("[") else plain


@lru_cache(_MOST_PARSED)
def _is_loopback_name(name: str) -> bool:
    try:
        return is_loopback(address_of(name))
    except ConfigurationError:
        return False


def _allowed_host(text: str) -> _Host:
    host = _parsed_host(text)
    if host is None:
        raise ConfigurationError(
            f"--allow-host {text!r} is no host: give a name or address, with or without a port, as xr.example, "
            "xr.example:8720 or [2001:db8::1]:8720. There are no wildcards, and no scheme or path."
        )
    return host


def _allowed_origin(text: str) -> _Origin:
    origin = _parsed_origin(text.removesuffix("/"))
    if origin is None:
        raise ConfigurationError(
            f"--allow-origin {text!r} is no origin: give scheme, host and port as browsers do, as https://app.example "
            "or http://192.0.2.7:3000. There are no wildcards, and null cannot be allowed, for any page can be that."
        )
    return origin


# ---------------------------------------------------------------- the token


def _require_good_token(token: str, what: str) -> None:
    """Raise ConfigurationError for a token that could not be sent, or be guessed. It never quotes it."""
    if not token:
        fault = "is empty"
    elif not all("!" <= letter <= "~" for letter in token):
        fault = "has characters that no HTTP header carries safely: use ASCII letters, digits and signs, and no spaces"
    elif len(token) < SHORTEST_TOKEN:
        fault = f"has {len(token)} characters, which could be guessed: use {SHORTEST_TOKEN} or more"
    elif len(token) > LONGEST_TOKEN:
        fault = f"has more than {LONGEST_TOKEN} characters, which is more than some clients send"
    else:
        return
    raise ConfigurationError(f"{what} {fault} ({_HOW_TO_MAKE}).")


def _read_token(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            text = stream.read(LONGEST_TOKEN + 3)  # enough to see that it is too long
    except OSError as error:
        raise ConfigurationError(f"The token file {file} cannot be read: {error.strerror}.") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigurationError(
            f"Other users may open the token file {file} (mode {stat.S_IMODE(mode):03o}), so its token may be known: "
            f"make a new one, and chmod 600 {file}."
        )
    # latin-1 takes every byte, and what is not ASCII is said to be wrong later.
    return text.decode("latin-1").removesuffix("\n").removesuffix("\r")
