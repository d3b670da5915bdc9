"""The floor of a durable start: one workflow with one activity that says when it began, in a worker process of its own.

Same server, same connection, same kind of worker as ours; no turn, no store, no records.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

from workflows.connection import connect

QUEUE: Final = "bare"


@activity.defn
async def begun() -> int:
    """Nanoseconds of the monotonic clock, which all processes share."""
    return time.monotonic_ns()


@workflow.defn(sandboxed=False)
class Bare:
    """Nothing but the activity."""

    @workflow.run
    async def run(self) -> int:
        return await workflow.execute_activity(begun, start_to_close_timeout=timedelta(seconds=10))


async def start_to_activity(client: Client) -> float:
    """Milliseconds from the call that starts a workflow to the first line of its activity."""
    called = time.monotonic_ns()
    handle = await client.start_workflow(Bare.run, id=str(uuid4()), task_queue=QUEUE)
    return (await handle.result() - called) / 1e6


@contextmanager
def bare_worker(address: str) -> Iterator[None]:
    """The worker process, polling."""
    context = get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, address), daemon=True)
    process.start()
    theirs.close()
    try:
        pipe.recv()
        yield
    finally:
        pipe.close()
        process.join(5)
        if process.is_alive():
            process.kill()


def _work(pipe: Connection, address: str) -> None:
    asyncio.run(_poll(pipe, address))
    os._exit(0)  # the interpreter's own way out crashes now and then after a worker ran in it


async def _poll(pipe: Connection, address: str) -> None:
    closed = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipe.fileno(), closed.set)
    client = await connect(address)
    async with Worker(client, task_queue=QUEUE, workflows=[Bare], activities=[begun], build_id="bare"):
        pipe.send("polling")
        await closed.wait()
