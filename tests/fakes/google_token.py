"""What google-auth looks for and asks: a service account's file, and the address that gives a token for it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

BITS = 1024  # of a key that guards nothing: a longer one takes longer to make


def service_account(path: Path, token_url: str) -> None:
    """Write the file of an account whose tokens come from this address."""
    key = generate_private_key(public_exponent=65_537, key_size=BITS)
    account = {
        "type": "service_account",
        "project_id": "project-1",
        "private_key_id": "k1",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "client_email": "turnkeep@project-1.iam.gserviceaccount.com",
        "token_uri": token_url,
    }
    path.write_text(json.dumps(account))


@asynccontextmanager
async def token_server(status: int, answer: dict[str, object]) -> AsyncIterator[tuple[str, list[str]]]:
    """The address, and the requests as they come."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        asked.append((await reader.readexactly(length)).decode())
        body = json.dumps(answer).encode()
        kind = f"HTTP/1.1 {status} Any\r\ncontent-type: application/json\r\nconnection: close\r\n"
        writer.write(f"{kind}content-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/token", asked
