"""What the page says about who answers."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.callers import principal_of
from api.errors import json_response, not_found
from api.identity import Resources
from api.ports import ApiParts
from assistants.definition import Assistant
from protocol.errors import TurnkeepError
from protocol.json import JsonObject


def assistant_routes(parts: ApiParts) -> APIRouter:
    """The assistants that a request may name."""
    routes = APIRouter(tags=["assistants"])

    @routes.get("/api/assistant")
    async def assistant(request: Request) -> Response:
        """The one that answers where a request names none, and all that the caller may use, that one first, as `assistants`.

        Each has a `name`, a `title`, `starters`, and a `model`, which is `demo` where the answers are demo answers. Who may not
        use the first one is told of another, which his requests then have to name.
        """
        principal, default = principal_of(request), parts.assistants[parts.default_assistant]
        every = [default, *(one for one in parts.assistants.values() if one is not default)]
        usable = [
            _shown(parts, one)
            for one in every
            if await parts.may_use(principal, Resources(assistant=one.name, conversation_id=None))
        ]
        if not usable:
            raise not_found()
        return json_response({**usable[0], "assistants": [*usable]})

    return routes


def _shown(parts: ApiParts, assistant: Assistant) -> JsonObject:
    try:
        model = parts.model_of(assistant)
    except TurnkeepError:
        model = ""  # it is there, and says so itself when it is asked
    return {"name": assistant.name, "title": assistant.title, "starters": [*assistant.starters], "model": model}
