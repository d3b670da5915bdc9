"""What /openapi.json says of the streams.

These functions never run: `application` matches their addresses before the router does. They are here so that the streams
are described, and so that another method on one of their addresses is answered as anywhere.
"""

from fastapi import APIRouter
from starlette.responses import Response

from api.errors import not_found


def stream_routes() -> APIRouter:
    """The addresses of streams."""
    routes = APIRouter(tags=["chat"])

    @routes.post("/api/chat")
    async def chat() -> Response:
        """Take a turn: `{"message", "conversation_id"?, "run_id"?, "assistant"?}`, or a body of the AI SDK.

        Answers with the run as server-sent events, or with `?stream=0` (or an `Accept` without event streams) as one JSON body.
        `?sdk=5|6|7` and `?wire=data` say what the reader can parse.
        """
        raise not_found()

    @routes.get("/api/chat/stream")
    async def stream_by_token(runId: str, startIndex: int = 0) -> Response:  # noqa: N803 - names of the protocol
        """A run by its id, with the header `x-chat-resume-token`."""
        raise not_found()

    @routes.get("/api/chat/{name}/stream")
    async def stream(name: str, startIndex: int = 0) -> Response:  # noqa: N803 - a name of the protocol
        """A run by its handle from an index on (negative: from the end), or a conversation's active run from 0 (204: none)."""
        raise not_found()

    return routes
