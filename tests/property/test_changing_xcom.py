"""What a group promises whose members may fall silent: one order for all, whatever is lost."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.models.group_replication.xcom.paxos import XcomOptions
from tests.groups import Group, XcomGroup, symmetric
from tests.xcom_groups import ChangingXcomGroup


@settings(max_examples=15)
@given(st.integers(1, 9), st.integers(0, 1000), st.sampled_from([2, 10]))
def test_without_faults_it_orders_as_if_there_could_be_none(
    size: int, seed: int, horizon: int
) -> None:
    options = XcomOptions(event_horizon=horizon)
    how = {"message_s": 1e-5, "jitter_s": 1e-4, "seed": seed}

    def run(group: Group) -> Group:
        random = Random(seed)
        for number in range(60):
            group.send_at(random.random() / 5.0, random.randrange(size), number)
        group.clock.run(3.0)
        return group

    plain = run(XcomGroup(symmetric(size, 0.004), options, **how))
    changing = run(ChangingXcomGroup(symmetric(size, 0.004), options, **how))
    assert changing.deliveries == plain.deliveries
    assert changing.messages == plain.messages
