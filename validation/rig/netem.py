"""Delay by ``tc netem``, where the kernel has it: a band of ``prio`` per late receiver."""

from __future__ import annotations

from collections.abc import Sequence

from simrep.rig.delays import Link

__all__ = ["add_commands", "probe_commands", "remove_command"]

QUEUE_PACKETS = 100_000  # netem drops beyond its limit, 1000 by default: too few at 50 ms
MOST_BANDS = 16
ORDERLY_KBIT = 100_000_000  # with a rate, 100 Gbit/s here, jitter does not change packets' order


def probe_commands(device: str) -> list[list[str]]:
    """Commands that succeed where netem can be used; the last one leaves the device as it was."""
    root = ["tc", "qdisc", "add", "dev", device, "root", "netem", "delay", "1ms"]
    return [root, remove_command(device)]


def remove_command(device: str) -> list[str]:
    """The command that takes all delay off a device; it fails if there is none."""
    return ["tc", "qdisc", "del", "dev", device, "root"]


def add_commands(device: str, receivers: Sequence[tuple[str, Link]]) -> list[list[str]]:
    """Commands that delay what a device sends to each of the given addresses.

    The first band takes all other packets; it is not delayed.
    """
    if not receivers:
        return []
    bands = len(receivers) + 1
    if bands > MOST_BANDS:
        raise ValueError(f"{len(receivers)} late receivers: prio has {MOST_BANDS} bands")
    plain = ["0"] * 16
    add_queue = ["tc", "qdisc", "add", "dev", device, "parent"]
    add_filter = ["tc", "filter", "add", "dev", device, "parent"]
    root = ["tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "prio"]
    commands = [[*root, "bands", str(bands), "priomap", *plain]]
    for band, (address, link) in enumerate(receivers, start=2):
        parent = f"1:{band:x}"
        commands.append([*add_queue, parent, "handle", f"{band + 15:x}:", "netem", *_netem(link)])
        match = ["u32", "match", "ip", "dst", f"{address}/32"]
        commands.append(
            [*add_filter, "1:", "protocol", "ip", "prio", "1", *match, "flowid", parent]
        )
    return commands


def _netem(link: Link) -> list[str]:
    words = ["limit", str(QUEUE_PACKETS)]
    if link.delay_ms or link.jitter_ms:
        words += ["delay", f"{link.delay_ms * 1000:g}us"]
        words += [f"{link.jitter_ms * 1000:g}us"] if link.jitter_ms else []
    if link.loss:
        words += ["loss", f"{link.loss * 100:g}%"]
    rate_kbit = link.rate_mbit * 1000
    if link.jitter_ms and not rate_kbit:
        rate_kbit = ORDERLY_KBIT
    if rate_kbit:
        words += ["rate", f"{rate_kbit:.15g}kbit"]
    return words
