"""POST and GET /api/files: what a message will attach, and what it attached. For its owner."""

from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.attachments import FILE_ID, Attachments, shown
from api.bodies import read_body
from api.callers import principal_of
from api.errors import json_response, not_found
from api.ports import ApiParts
from api.requests import parse_query
from protocol.json import JsonObject

# It is what somebody sent us, at our own address: never a page, never a script, whatever a browser takes it for.
_SAFE: Final = {
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-store",
}


def file_routes(parts: ApiParts) -> APIRouter:
    """Upload and download."""
    routes = APIRouter(prefix="/api/files", tags=["files"])
    attachments = Attachments(parts)

    def owner(request: Request) -> tuple[str, str]:
        principal = principal_of(request)
        return principal.tenant, principal.owner

    @routes.post("")
    async def upload(request: Request) -> Response:
        """Keep the body as a file: `?name=`. Its type is found by its content; the same content again is the same file.

        Answers with the part that attaches it to a message, with its `id` and `size`.
        """
        name = parse_query(request.scope["query_string"]).get("name", "")
        content = await read_body(request.receive, parts.limits.file_bytes)
        file, new = await attachments.keep(owner(request), content, name)
        answer: JsonObject = {**shown(file), "id": file.id, "size": file.size}
        return json_response(answer, 201 if new else 200)

    @routes.get("/{file}")
    async def download(request: Request, file: str) -> Response:
        """The file's bytes, to be saved or shown as a picture, never as a page."""
        if FILE_ID.fullmatch(file) is None:
            raise not_found()
        tenant, name = owner(request)
        known = (await parts.records.files.find(tenant, name, [file])).get(file)
        content = await parts.records.files.content(tenant, name, file)
        if known is None or content is None:
            raise not_found()
        kind = "text/plain; charset=utf-8" if known.media_type == "text/plain" else known.media_type
        saved = f"attachment; filename*=UTF-8''{quote(known.name, safe='')}"
        return Response(content, headers={**_SAFE, "content-type": kind, "content-disposition": saved})

    return routes
