"""What the page says about who answers."""

from fastapi import APIRouter
from starlette.responses import Response

from api.errors import json_response
from api.ports import ApiParts
from assistants.definition import Assistant
from protocol.errors import TurnkeepError
from protocol.json import JsonObject


def assistant_routes(parts: ApiParts) -> APIRouter:
    """The assistants that a request may name."""
    routes = APIRouter(tags=["assistants"])

    @routes.get("/api/assistant")
    async def assistant() -> Response:
        """The one that answers where a request names none, and all there are, that one first, as `assistants`.

        Each has a `name`, a `title`, `starters`, and a `model`, which is `demo` where the answers are demo answers.
        """
        default = parts.assistants[parts.default_assistant]
        others = [one for one in parts.assistants.values() if one is not default]
        value = _shown(parts, default)
        return json_response({**value, "assistants": [value, *(_shown(parts, one) for one in others)]})

    return routes


def _shown(parts: ApiParts, assistant: Assistant) -> JsonObject:
    try:
        model = parts.model_of(assistant)
    except TurnkeepError:
        model = ""  # it is there, and says so itself when it is asked
    return {"name": assistant.name, "title": assistant.title, "starters": [*assistant.starters], "model": model}
