"""Ask a Turnkeep server and read the answer to its end, across cuts, restarts and reloads."""

from turnkeep_client.asynchronous import AsyncClient, AsyncRun
from turnkeep_client.errors import ClientError, Damaged, Lost, Refused, Unreachable
from turnkeep_client.limits import Limits
from turnkeep_client.steps import Event
from turnkeep_client.synchronous import Client, Run

__all__ = [
    "AsyncClient",
    "AsyncRun",
    "Client",
    "ClientError",
    "Damaged",
    "Event",
    "Limits",
    "Lost",
    "Refused",
    "Run",
    "Unreachable",
]
