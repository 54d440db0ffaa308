"""Stored fragments that have left memory are read when they are removed."""

import pytest

import simrep
from simrep.models.galera.options import GaleraCosts
from simrep.models.galera.stored_fragments import PAGE_BYTES, StoredFragments, pages_of
from simrep.models.galera.writeset import Part, StreamPart

MEGABYTE = 1 << 20


def part(pages: int, other_bytes: int) -> StreamPart:
    return StreamPart((0, 0), Part.COMMIT, 1, pages, other_bytes)


def stored(pool_pages: int | None) -> StoredFragments:
    """Of a pool that keeps so many pages."""
    pool = None if pool_pages is None else round((pool_pages + 1024) * PAGE_BYTES / 0.99)
    return StoredFragments(pool, GaleraCosts(page_read_us=100.0))


@pytest.mark.parametrize(
    ("size_bytes", "pages"), [(100, 0), (3072, 0), (8000, 0), (8100, 1), (10_240, 1),
                              (30_720, 2), (102_400, 7), (1_048_576, 65)],
)  # fmt: skip
def test_a_fragment_longer_than_half_a_page_has_pages_of_its_own(
    size_bytes: int, pages: int
) -> None:
    assert pages_of(size_bytes) == pages


def evicting(pages: int, others: int, kept: int) -> int:
    """The same page by page: rows and fragments in turn, the oldest leaves."""
    total = pages + others
    ages = sorted([(place / pages, True, place) for place in range(pages)]
                  + [(place / others, False, place) for place in range(others)])  # fmt: skip
    memory = dict.fromkeys(ages[max(0, total - kept) :])
    order = list(memory)
    gone, reads = 0, 0
    for page in (age for age in ages if age[1]):
        if page in memory:
            continue
        reads += 1
        memory.pop(order[gone])
        memory[page] = None
        order.append(page)
        gone += 1
    return reads


@pytest.mark.parametrize("kept", [600, 900, 1200, 1450, 1600])
def test_reads_are_those_of_a_pool_that_evicts_the_oldest_page(kept: int) -> None:
    pages, others = 900, 600
    found = stored(kept).pages_to_read(part(pages, others * PAGE_BYTES))
    assert found == pytest.approx(evicting(pages, others, kept), abs=3)


def test_nothing_is_read_where_all_fits_or_the_pool_is_not_known() -> None:
    big = part(10_000, 10_000 * PAGE_BYTES)
    assert stored(None).pages_to_read(big) == stored(20_001).pages_to_read(big) == 0
    assert stored(10_000).pages_to_read(part(0, 1 << 40)) == 0
    assert stored(10_000).pages_to_read(part(10_001, 0)) == 10_001
    assert stored(10_000).read_s(part(10_001, 0)) == pytest.approx(1.0001)


def stalled_s(**options: object) -> float:
    """How long small transactions wait beside a large one of 40 MB in fragments of 20 kB."""
    result = simrep.run(
        {
            "cluster": {
                "model": "galera",
                "nodes": 2,
                "costs": {"page_read_us": 500.0, "log_removal_us": 3.0},
                "options": {"wsrep_slave_threads": 4} | options,
            },
            "workload": {
                "rate_tps": 200.0,
                "connections": 8,
                "nodes": ["n1"],
                "class": [{"keys": {"distribution": "fresh"}}],
                "scheduled": [
                    {
                        "name": "large",
                        "at_s": 0.5,
                        "rows": 200_000,
                        "row_bytes": 200,
                        "keys": {"distribution": "scan", "rows": 200_000},
                        "session": {"wsrep_trx_fragment_size": 20_000},
                    }
                ],
            },
            "run": {"settle_s": 1.0},
        },
        seed=1,
    )
    return float(result.latency_s["max"])


def test_a_small_pool_makes_the_others_wait_behind_the_removal() -> None:
    # 4000 pages of fragments and 2441 of rows: of those 400 of 2000 fragments and more are read,
    # 0.5 ms each, while the other node's receive queue of 23 writesets is full after 0.1 s.
    without = stalled_s(innodb_buffer_pool_size="512M")
    within = stalled_s(innodb_buffer_pool_size=104 * MEGABYTE)
    assert max(without, stalled_s()) < 0.1
    reads = StoredFragments(104 * MEGABYTE, GaleraCosts()).pages_to_read(
        part(2 * 2000, 200 * 200_000)
    )
    assert within == pytest.approx(reads * 500e-6, abs=0.15)
