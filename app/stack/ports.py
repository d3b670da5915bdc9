"""Ports on this machine: the one asked for, else the one used last time, else any free one."""

import socket


class PortTaken(Exception):
    """Somebody listens on the port that was asked for."""


def listen(host: str, *, given: int = 0, last: int = 0) -> socket.socket:
    """A listening socket. `given` and `last` are 0 where there is none.

    Raises:
        PortTaken: where `given` cannot be had. `last` is only a wish.
    """
    if given:
        listener = _bound(host, given)
        if listener is None:
            raise PortTaken(f"Port {given} of {host} is taken.")
        return listener
    return (last and _bound(host, last)) or _any(host)


def free_port(host: str, *, last: int = 0) -> int:
    """A port that nobody listens on now, for a server that binds it itself."""
    with listen(host, last=last) as listener:
        port: int = listener.getsockname()[1]
        return port


def _any(host: str) -> socket.socket:
    listener = _bound(host, 0)
    if listener is None:
        raise PortTaken(f"{host} has no free port.")
    return listener


def _bound(host: str, port: int) -> socket.socket | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1_024)
    except OSError:
        return None
