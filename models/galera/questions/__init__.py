"""Questions that only Galera answers: fragments, the gcache, returns, timeouts."""

from __future__ import annotations

from simrep.modelling import (
    Option,
    Question,
    rejoin_question,
    repeated,
    scheduled,
    timeouts_question,
)

__all__ = ["QUESTIONS"]

QUESTIONS = (
    Question(
        "fragment",
        f"{__name__}.fragment_sizes:largest_fragment",
        "The largest safe fragment of streaming replication.\n\n"
        "Example: simrep plan cluster.toml fragment --longest-stall 500ms",
        (
            Option(
                "sizes",
                "Fragment sizes, such as 10K,100K,1M (K is 1000, Ki is 1024). Default: a grid "
                "from one row to the whole transaction.",
                "sizes",
            ),
            Option("unit", "bytes, rows or statements. Default: as in the scenario, or bytes."),
            *scheduled(),
            Option(
                "largest_slowdown",
                "Largest slowdown of the transaction.",
                "number",
                1.5,
                metavar="FACTOR",
            ),
            Option(
                "least_payload",
                "Share of its throughput that the payload keeps.",
                "share",
                "80%",
                metavar="SHARE",
            ),
            repeated(None, least=1),
        ),
    ),
    Question(
        "gcache",
        f"{__name__}.gcache:gcache_size",
        "The gcache.size for an incremental transfer after an outage (Galera).\n\n"
        "Example: simrep plan cluster.toml gcache --outage 4h",
        (
            Option(
                "outage_s",
                "Time for which the node is away: 30min, 4h, 2d.",
                "time",
                metavar="TIME",
                required=True,
                flag="outage",
            ),
            repeated(10),
        ),
    ),
    rejoin_question(f"{__name__}.rejoin:node_return"),
    timeouts_question(f"{__name__}.timeouts:suspect_timeouts"),
)
