"""How a process of ours reaches the Temporal server: one converter, one compression, one bound."""

import asyncio
from dataclasses import replace
from typing import Final

from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadConverter
from temporalio.service import GrpcCompression, RetryConfig, RPCError

PROBE_SECONDS: Final = 0.75


class KindsOnly(DefaultFailureConverter):
    """Failures as they may leave a process: their type, with no text and no trace. Exceptions quote what people wrote (C12)."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        super().to_failure(exception, payload_converter, failure)  # it comes back here for every cause
        failure.message = failure.application_failure_info.type or type(exception).__name__
        failure.stack_trace = ""


CONVERTER: Final[DataConverter] = replace(pydantic_data_converter, failure_converter_class=KindsOnly)


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
                data_converter=CONVERTER,
                retry_config=retries,
                grpc_compression=GrpcCompression.NONE,  # payloads are ids: packing them costs more than sending them
            ),
            timeout_seconds,
        )
    except (RuntimeError, TimeoutError) as error:  # RuntimeError is how the SDK says that nobody listens
        raise ConnectionError("The Temporal server does not answer.") from error


async def answers(client: Client) -> bool:
    """Whether the client's server answers now, asked once and within a bound."""
    try:
        call = client.workflow_service.get_system_info(GetSystemInfoRequest(), retry=False)
        await asyncio.wait_for(call, PROBE_SECONDS)
    except (RPCError, TimeoutError):
        return False
    return True
