"""Takes orders over HTTP and puts them on a queue: `AMQP_URL=... uvicorn web:app`."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypedDict

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from amqp_sansio.adapters.asyncio import AmqpError, Connection, RetryPolicy, Session, connect


class State(TypedDict):
    """The contents of `request.state`."""

    connection: Connection
    orders: Session


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[State]:
    """One connection and one session for all requests."""
    connection = await connect(os.environ["AMQP_URL"], retry=RetryPolicy())
    try:
        orders = await connection.open_session()
        await orders.declare_queue("orders", durable=True)
        yield {"connection": connection, "orders": orders}
        await orders.close(timeout=5.0)
    finally:
        await connection.close(timeout=5.0)


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=202)
async def order(request: Request) -> dict[str, int]:
    """Answers when the broker has confirmed the order."""
    session: Session = request.state.orders
    await session.publish("", "orders", await request.body(), persistent=True, timeout=5.0)
    return {"waiting": (await session.query_queue("orders", timeout=5.0)).message_count or 0}


@app.get("/health")
async def health(request: Request) -> dict[str, object]:
    """For the load balancer."""
    connection: Connection = request.state.connection
    return {"broker": connection.is_open, "reconnected": connection.remade}


@app.exception_handler(AmqpError)
@app.exception_handler(TimeoutError)
async def unavailable(_: Request, error: Exception) -> JSONResponse:
    """Answers 503: the order may be on the queue."""
    return JSONResponse({"detail": "try again later", "reason": type(error).__name__}, status_code=503)
