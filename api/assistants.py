"""What the page says about who answers."""

from fastapi import APIRouter
from starlette.responses import Response

from api.errors import json_response
from api.ports import ApiParts
from protocol.json import JsonObject


def assistant_routes(parts: ApiParts) -> APIRouter:
    """The assistant that answers where a request names none."""
    routes = APIRouter(tags=["assistants"])

    @routes.get("/api/assistant")
    async def assistant() -> Response:
        """Its name, title, starter questions, and the model: `demo` where the answers are demo answers."""
        default = parts.assistants[parts.default_assistant]
        model = parts.model_of(default)
        value: JsonObject = {
            "name": default.name,
            "title": default.title,
            "starters": [*default.starters],
            "model": model,
        }
        return json_response(value)

    return routes
