"""Copies of a message arrive as if each was sent by itself, bit for bit."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.network.link import Jitter, Latency
from simrep.network.network import Network, Path

JITTER = (Jitter("exponential", 1e-4),)


def arrivals(sent: list[tuple[float, int, float, bool]], path: Path, *, apart: bool) -> list[Any]:
    clock = Clock()
    pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    network = Network(
        clock,
        Streams(1),
        ["a", "b", "c"],
        dict.fromkeys(pairs, path),
        relay=lambda call, argument: call(argument),
    )
    seen: list[Any] = []
    for node in range(3):
        network.on_receive(
            node, lambda envelope, node=node: seen.append((clock.now, node, envelope))
        )
    broadcast = network._send_each if apart else network.send_copies

    def send(message: tuple[int, float, bool]) -> None:
        size_bytes, each_s, relay = message
        broadcast(0, [(1, False), (2, relay)], size_bytes, message, each_s)

    now = 0.0
    for later_s, size_bytes, each_s, relay in sent:
        now += later_s
        clock.at(now, send, (size_bytes, each_s, relay))
    clock.run()
    return seen


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    sent=st.lists(
        st.tuples(
            st.floats(0.0, 1e-3),
            st.sampled_from([60, 6_000, 20_000, 200_000]),
            st.sampled_from([0.0, 1e-5]),
            st.booleans(),
        ),
        max_size=12,
    ),
    jitter=st.booleans(),
    loss=st.sampled_from([0.0, 0.1]),
    relayed=st.booleans(),
)
def test_copies_arrive_as_messages_do(sent, jitter, loss, relayed) -> None:
    path = Path(Latency(5e-3, JITTER if jitter else ()), 1e7, loss, relayed=relayed)
    assert arrivals(sent, path, apart=False) == arrivals(sent, path, apart=True)
