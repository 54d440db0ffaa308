"""What axes over values of the scenario are called."""

import pytest

from simrep.show.plot.axes import path_label


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("network.rtt_ms", "round trip (ms)"),
        ("network.egress.0.delay_ms", "delay (ms)"),
        ("workload.class.0.keys.rows", "rows"),
        ('cluster.options."evs.send_window"', "evs.send_window"),
        ("cluster.options.gcs.fc_limit", "gcs.fc_limit"),
        ("egress_delay_ms", "egress delay (ms)"),
        ("window", "window"),
    ],
)
def test_a_path_is_called_by_its_last_name(path, label):
    assert path_label(path, [path, "other"]) == label


def test_two_paths_that_end_alike_keep_their_length():
    both = ["network.path.0.rtt_ms", "network.path.1.rtt_ms"]
    assert len({path_label(path, both) for path in both}) == 2
