"""The questions that every model answers, and what several questions ask."""

from __future__ import annotations

from simrep.contract.question import Option, Question

__all__ = [
    "QUESTIONS", "rejoin_question", "repeated", "scheduled", "timeouts_question",
]  # fmt: skip

_QUICK = 4  # replications of a first look
_OBJECTIVE = Option(
    "objective",
    "Conditions to meet: tps>=500,p99<=250ms (tps, mean, p50, p95, p99, max, stall, or the path "
    "of a figure).",
    metavar="CONDITIONS",
    required=True,
)


def _precision(default: str) -> Option:
    return Option(
        "precision",
        "Width of the interval around the answer.",
        "share",
        default,
        metavar="SHARE",
        quick=0.25,
    )


def _search(unit: str = "", most: int = 24, precision: str = "5%") -> tuple[Option, ...]:
    """What all searches ask."""
    return (
        Option("within", "Range of the search: 1..100.", "range", metavar="LOW..HIGH", unit=unit),
        _precision(precision),
        Option(
            "replications",
            "Most replications of one value.",
            "count",
            most,
            least=4,
            quick=_QUICK,
        ),
    )


def repeated(
    default: int | None, least: int = 2, quick: int = _QUICK, *, otherwise: str = ""
) -> Option:
    """How often a question simulates what it asks about; a first look does so less often.

    ``otherwise`` says what holds if the default is none.
    """
    if default is not None and default <= quick:
        quick = max(default // 2, least)
    return Option(
        "replications",
        f"Repetitions with other random numbers.{otherwise}",
        "count",
        default,
        least=least,
        quick=quick,
    )


def scheduled() -> tuple[Option, ...]:
    """What questions about a large transaction ask."""
    return (
        Option("transaction", "The transaction, if several are scheduled.", metavar="NAME"),
        Option(
            "longest_stall_s",
            "Longest stall of the payload.",
            "time",
            "1s",
            metavar="TIME",
            flag="longest-stall",
        ),
    )


def timeouts_question(answer: str) -> Question:
    """The question of :mod:`simrep.whatif.plan.timeouts`, answered by a function of a model."""
    return Question(
        "timeouts",
        answer,
        "The cost of a crash and the removals by mistake, for several timeouts.\n\n"
        "Example: simrep plan cluster.toml timeouts --outage 4s --loss 1%",
        (
            Option(
                "outage_s",
                "Time for which a node is cut off, or a source stands still: 1500ms, 4s.",
                "time",
                "4s",
                metavar="TIME",
                flag="outage",
            ),
            Option("loss", "Share of lost segments: 1%.", "share", "0%", metavar="SHARE"),
            Option(
                "jitter_s",
                "Mean jitter on delays: 20ms.",
                "time",
                "0ms",
                metavar="TIME",
                flag="jitter",
            ),
            repeated(6, least=1),
        ),
    )


def rejoin_question(answer: str) -> Question:
    """The question of :mod:`simrep.whatif.plan.rejoin`, answered by a function of a model."""
    return Question(
        "rejoin",
        answer,
        "The time until a node is back, and the effect on other nodes.\n\n"
        "Example: simrep plan cluster.toml rejoin --away 4h",
        (
            Option(
                "away_s",
                "Time for which the node was away: 30min, 4h, 2d. Default: a new, empty node.",
                "time",
                metavar="TIME",
                flag="away",
            ),
            Option("node", "The node. Default: the last.", metavar="NODE"),
            Option(
                "retention_s",
                "Time for which binary logs are kept: 7d. Default: the product's.",
                "time",
                metavar="TIME",
                flag="retention",
            ),
            Option(
                "disk_mb_s",
                "Speed of a copy of all data in MB per second. Default: the pack's.",
                "number",
                metavar="MB",
                flag="disk",
            ),
            repeated(None, quick=2),
        ),
    )


_RTT_WITHIN, *_RTT_SEARCH = _search("ms")

QUESTIONS = (
    Question(
        "rtt",
        "simrep.whatif.plan.questions:largest_rtt",
        "The largest round trip that meets an objective.\n\n"
        "Example: simrep plan cluster.toml rtt --objective 'p99<=250ms'",
        (
            _OBJECTIVE,
            _RTT_WITHIN,
            Option(
                "path",
                "The delay to vary; default: network.rtt_ms.",
                metavar="PATH",
            ),
            *_RTT_SEARCH,
        ),
    ),
    Question(
        "clients",
        "simrep.whatif.plan.questions:fewest_clients",
        "The fewest clients that meet an objective.\n\n"
        "Example: simrep plan cluster.toml clients --objective 'tps>=500,p99<=250ms'",
        (_OBJECTIVE, *_search()),
    ),
    Question(
        "capacity",
        "simrep.whatif.plan.capacity:capacity",
        "The largest rate, or number of clients, that meets an objective.\n\n"
        "Example: simrep plan cluster.toml capacity --objective 'p99<=50ms'\n"
        "--over network.rtt_ms=1,20",
        (
            _OBJECTIVE,
            Option(
                "by",
                "The load that grows: rate (arrivals) or clients; default: as in the scenario.",
                metavar="rate|clients",
            ),
            Option(
                "over",
                "Topologies to compare: cluster.nodes=3,5 or any other values; may be repeated.",
                "levels",
                metavar="PATH=LEVELS",
            ),
            Option(
                "beside",
                "Another scenario to compare; may be repeated.",
                "files",
                metavar="SCENARIO.toml",
            ),
            *_search(most=12, precision="10%"),
        ),
    ),
    Question(
        "appliers",
        "simrep.whatif.plan.questions:fewest_appliers",
        "The fewest appliers that keep up with a rate in the long run.\n\n"
        "Example: simrep plan cluster.toml appliers --tps 2000",
        (
            Option("tps", "Transactions per second.", "number", required=True),
            *_search(),
        ),
    ),
    Question(
        "transaction",
        "simrep.whatif.plan.transaction:largest_transaction",
        "The largest scheduled transaction that stalls nobody for too long.\n\n"
        "Example: simrep plan cluster.toml transaction --longest-stall 2s",
        (*scheduled(), *_search()),
    ),
    Question(
        "rate",
        "simrep.whatif.plan.rate:highest_rate",
        "The highest rate at which no member falls behind in the long run.\n\n"
        "Example: simrep plan cluster.toml rate --jobs 2",
        (_precision("5%"), repeated(5)),
    ),
    Question(
        "headroom",
        "simrep.whatif.plan.headroom:headroom",
        "The resources that give out when the load grows, each with its factor.\n\n"
        "Example: simrep plan cluster.toml headroom --plot headroom.png",
        (
            Option(
                "by",
                "The load that grows: clients or rate (arrivals); default: as in the scenario.",
                metavar="rate|clients",
            ),
            Option(
                "objective",
                "A load is also too large if it misses this objective: p95<=50ms.",
                metavar="CONDITIONS",
            ),
            Option("steps", "Most resources to find, one after the other.", "count", 3, least=1),
            repeated(4),
        ),
    ),
    Question(
        "traffic",
        "simrep.whatif.plan.traffic:traffic",
        "The traffic of replication over each link in a month, and its price.\n\n"
        "Example: simrep plan cluster.toml traffic --prices mine.csv",
        (
            Option(
                "prices",
                "Your own prices, in columns provider, from, to and usd_per_gb.",
                "file",
                metavar="FILE.csv",
            ),
            repeated(4),
        ),
    ),
    Question(
        "product",
        "simrep.whatif.plan.product:rank_products",
        "Products and layouts at given regions, ranked by an objective.\n\n"
        "Example: simrep plan cluster.toml product --regions us-east-1,us-west-2,eu-west-1\n"
        "--writes us-east-1 --objective 'tps>=500,p99<=250ms'",
        (
            Option(
                "regions",
                "Regions of the servers: us-east-1,us-west-2,eu-west-1.",
                "names",
                metavar="LIST",
                required=True,
            ),
            Option("writes", "Regions of the writers.", "names", metavar="LIST", required=True),
            _OBJECTIVE,
            Option(
                "durability",
                "After the loss of the writing region: any, keeps-data (no answered transaction is "
                "lost) or goes-on (and other regions take writes without an operator).",
                default="any",
                metavar="WORD",
            ),
            Option(
                "rto_s",
                "In a drill, the longest time without an answered write: 10s.",
                "time",
                metavar="TIME",
                flag="rto",
            ),
            Option(
                "rpo",
                "In a drill, the most answered transactions that may be lost: 0.",
                "count",
                least=0,
            ),
            Option(
                "rtts",
                "Your own round trips, in columns from, to and rtt_ms.",
                "file",
                metavar="FILE.csv",
            ),
            Option(
                "zone_rtt_ms",
                "Round trip within a region: 1 or 500us.",
                "time",
                "1ms",
                metavar="TIME",
                unit="ms",
            ),
            repeated(8),
        ),
    ),
    Question(
        "rolling-restart",
        "simrep.whatif.plan.rolling_restart:rolling_restart",
        "The time and the stalls of a restart of one node after the other.\n\n"
        "Example: simrep plan cluster.toml rolling-restart --down 30s",
        (
            Option(
                "down_s",
                "Time of the work on each node: 30s, 5min.",
                "time",
                "5s",
                metavar="TIME",
                flag="down",
            ),
            Option(
                "pause_s",
                "Pause of the operator between two nodes.",
                "time",
                "2s",
                metavar="TIME",
                flag="pause",
            ),
            Option(
                "nodes",
                "Order of the nodes; default: the first node last.",
                "names",
                metavar="LIST",
            ),
            repeated(None, least=1, quick=2, otherwise=" Default: 4; 2 if it takes over 2 min."),
        ),
    ),
    Question(
        "reads",
        "simrep.whatif.plan.reads:weighed_reads",
        "The price of each read consistency, and the staleness of reads without it.\n\n"
        "Example: simrep plan cluster.toml reads --rtts 1,10,50 --plot reads.png",
        (
            Option(
                "rtts",
                "Round trips in ms: 1,10,50; the answer is about the first. Default: the "
                "scenario's round trip, a quarter, and four times as much.",
                "names",
                metavar="LIST",
            ),
            Option(
                "loads",
                "Writers, as multiples of the scenario's; the answer is about the first. Default: "
                "1,0.5,2.",
                "names",
                metavar="LIST",
            ),
            Option(
                "readers",
                "Readers to add on each node without writers, if no client only reads.",
                "count",
                4,
                least=1,
            ),
            repeated(4),
        ),
    ),
)
"""In the order of the help."""
