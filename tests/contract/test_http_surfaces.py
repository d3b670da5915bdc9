"""Several surfaces on one contract: what they differ in, and what no conversation holds whichever of them it came from."""

from dataclasses import replace

from api.ports import ApiParts
from assistants.definition import Assistant
from tests.contract.file_reader import Reader, reading_files
from tests.contract.http_callers import EVERYTHING, admitting, holding, key_of
from tests.contract.http_house import frame, pieces, running, types


async def lesson(question: str, answer: str) -> str:
    return f"Lesson: {question}"


TUTOR = Assistant(name="tutor", title="Tutor", instructions="Ask back.", profile="interactive", entitle=lesson)


def with_tutor(parts: ApiParts) -> ApiParts:
    return replace(parts, assistants={**parts.assistants, "tutor": TUTOR})


async def test_surfaces_differ_in_who_answers_and_in_nothing_else() -> None:
    """REQ-O12: instructions, purpose and title are the assistant's; routes, frames and conversations are the same. REQ-O10"""
    model = Reader()
    async with reading_files(model, with_tutor) as house:
        house.rig.others = (TUTOR,)
        client = await house.client()
        bodies = [
            (
                await client.post("/api/chat", json={"message": "Why?", "conversation_id": name, "assistant": name})
            ).content
            for name in ("bench", "tutor")
        ]
        await house.dispatch.settled()
        listed = (await client.get("/api/conversations")).json()["conversations"]

    assert types(bodies[0]) == types(bodies[1])
    assert [frame(pieces(body)[1])["data"]["assistant"] for body in bodies] == ["bench", "tutor"]
    assert [request.system for request in model.asked] == ["Answer.", "Ask back."]
    assert {one["id"]: one["title"] for one in listed} == {"bench": "Why?", "tutor": "Lesson: Why?"}


async def test_who_acted_is_the_callers_to_record() -> None:
    """REQ-O11: neither whom a key acts for nor whose key it is goes to a model or stands in what is read again."""
    model = Reader()
    async with reading_files(model, admitting()) as house:
        key = await key_of(house, "the-shop", rights=EVERYTHING, name="till")
        ann = await holding(house, key, **{"x-turnkeep-owner": "ann@example.com"})
        answer = await ann.post("/api/chat", json={"message": "Why?", "conversation_id": "c1"})
        run_id = answer.headers["x-chat-run-id"]
        paths = ("/api/conversations", "/api/conversations/c1", "/api/conversations/c1/messages", f"/api/runs/{run_id}")
        read = [(await ann.get(path)).text for path in paths]
        run, history = await house.parts.records.run(run_id), await house.parts.records.history("", "c1", 9, None)

    assert run is not None
    assert run.owner == "ann@example.com"  # what decides who may read it, and what the caller's record can be held to
    written = [answer.text, str(answer.headers), *read, str(model.asked), str(history)]
    assert [text for text in written if any(name in text for name in ("ann", "example.com", "the-shop", "till"))] == []


async def test_a_conversations_id_means_nothing() -> None:
    """REQ-O9: whatever it looks like, be it the id of something else."""
    run = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
    names = (
        "c1", "conv-support-0a1b2c3d", run, f"msg_{run.replace('-', '')}", f"file_{'0' * 32}", f"session-{'0' * 32}",
        "tk_0", "stream", "bench", "0",
    )  # fmt: skip
    async with running() as house:
        client = await house.client()
        said = [await client.post("/api/chat", json={"message": "hi", "conversation_id": name}) for name in names]
        read = [(await client.get(f"/api/conversations/{name}/messages")).json()["messages"] for name in names]
        idle = [(await client.get(f"/api/chat/{name}/stream")).status_code for name in names]
        listed = (await client.get("/api/conversations")).json()["conversations"]

    assert [types(answer.content) for answer in said] == [types(said[0].content)] * len(names)
    assert [[message["parts"] for message in messages] for messages in read] == [
        [one["parts"] for one in read[0]]
    ] * len(names)
    assert idle == [204] * len(names)
    assert {one["id"] for one in listed} == {*names}
