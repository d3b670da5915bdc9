"""How a process of ours reaches the Temporal server: one converter, one compression, one bound."""

import asyncio

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import GrpcCompression, RetryConfig


async def connect(
    address: str, *, namespace: str = "default", timeout_seconds: float = 5.0, retries: RetryConfig | None = None
) -> Client:
    """A client for `address` ("host:port").

    Raises ConnectionError where there is no server, and where it does not answer in time: by itself the SDK waits for ever.
    """
    try:
        return await asyncio.wait_for(
            Client.connect(
                address,
                namespace=namespace,
                data_converter=pydantic_data_converter,
                retry_config=retries,
                grpc_compression=GrpcCompression.NONE,  # payloads are ids: packing them costs more than sending them
            ),
            timeout_seconds,
        )
    except (RuntimeError, TimeoutError) as error:  # RuntimeError is how the SDK says that nobody listens
        raise ConnectionError("The Temporal server does not answer.") from error
