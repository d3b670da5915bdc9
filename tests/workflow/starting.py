"""The API's side of a test: workflows over a client, and a client whose answers are lost."""

from temporalio.client import Client, Interceptor, OutboundInterceptor, StartWorkflowInput, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from dispatch.temporal import Workflows


class LostAnswers(Interceptor):
    """The server accepts every start and no answer arrives."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002 - the SDK's name
        return _LosesAnswers(next)


class _LosesAnswers(OutboundInterceptor):
    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[object, object]:  # noqa: A002 - as above
        await super().start_workflow(input)
        raise RPCError("Timeout expired", RPCStatusCode.CANCELLED, b"")


async def connected(client: Client, queue: str) -> Workflows:
    async def connect_to() -> Client:
        return client

    # A busy machine is no fault of the server's: only tests of a silent one bound their calls tightly.
    workflows = Workflows(connect_to, task_queue=queue, start_seconds=10)
    assert await workflows.probe()
    return workflows


def losing_answers(client: Client) -> Client:
    """The client's twin whose starts all happen and all fail."""
    config = client.config()
    config["interceptors"] = [LostAnswers()]
    return Client(**config)
