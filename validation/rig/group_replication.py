"""MySQL Group Replication, with one primary or with many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from simrep.rig.cluster import Health, RigCluster, await_condition, reached
from simrep.rig.engine import RigHost
from simrep.rig.server import Option, RigServer, option_arguments

__all__ = ["ReplicationGroup", "group_arguments", "group_problems"]

GROUP = "51dc4e00-0000-4000-8000-000000000001"
PORT = 33061
JOIN_S = 120.0
MEMBERS = (
    "select member_host as member_host, member_state as member_state, "
    "member_role as member_role, own.view_id as view_id "
    "from performance_schema.replication_group_members "
    "join (select view_id from performance_schema.replication_group_member_stats "
    "where member_id = @@server_uuid) as own order by member_host"
)
OWN_COUNTERS = (
    "select * from performance_schema.replication_group_member_stats "
    "where member_id = @@server_uuid"
)
RECOVERY_USER = (
    "set sql_log_bin=0",
    "create user replica@'%' identified by 'replica'",
    "grant replication slave, connection_admin on *.* to replica@'%'",
    "grant backup_admin, group_replication_stream on *.* to replica@'%'",
    "set sql_log_bin=1",
    (
        "change replication source to source_user='replica', source_password='replica' "
        "for channel 'group_replication_recovery'"
    ),
)
FOUND = (
    "set global group_replication_bootstrap_group=ON",
    "start group_replication",
    "set global group_replication_bootstrap_group=OFF",
)


class ReplicationGroup(RigCluster):
    """Members of one group: the first founds it, the others recover from it in turn."""

    system = "group_replication"
    product_counters = ("gr_", "group_replication_")
    talkative = ("set global log_error_verbosity=3",)

    def arguments(self, host: RigHost) -> list[str]:
        """All members know one another."""
        return group_arguments(
            host.address, [other.address for other in self.hosts], self.options_of(host)
        )

    def join(self) -> None:
        """Start a member on every host, one after the other."""
        for number, server in enumerate(self.nodes, 1):
            server.start()
            server.query(*RECOVERY_USER)
            server.query(*(FOUND if number == 1 else ("start group_replication",)))
            await_condition(
                f"{server.name} online in a group of {number}",
                partial(_all_online, self.nodes[0], number),
                JOIN_S,
            )

    def replication_health(self) -> Health:
        """Whether all members see the same view, in which all are online."""
        facts = {
            server.name: [
                {key.lower(): str(value) for key, value in row.items()}
                for row in server.query(MEMBERS)
            ]
            for server in self.nodes
        }
        return Health(group_problems(facts), facts)

    def rejoin(self, server: RigServer) -> None:
        """Start a member, and its replication as soon as it answers."""
        server.start("--log-error-verbosity=3")
        server.query("start group_replication")

    def more_counters(self, server: RigServer) -> dict[str, str]:
        """The member's row of the group's statistics."""
        rows = server.query(OWN_COUNTERS)
        return {key.lower(): str(value) for row in rows for key, value in row.items()}

    def level(self, timeout_s: float) -> bool:
        """Whether every member has executed what any of them has."""
        sets = [str(server.value("@@global.gtid_executed")) for server in self.nodes]
        wanted = ",".join(sorted({text.replace("\n", "") for text in sets if text}))
        return reached(self.nodes, "wait_for_executed_gtid_set", wanted, timeout_s)


def group_arguments(address: str, seeds: Sequence[str], options: Mapping[str, Option]) -> list[str]:
    """Arguments of one member; "loose", because the plugin is loaded at the same start."""
    of_group = {
        "group_replication_group_name": GROUP,
        "group_replication_start_on_boot": "OFF",
        "group_replication_bootstrap_group": "OFF",
        "group_replication_local_address": f"{address}:{PORT}",
        "group_replication_group_seeds": ",".join(f"{seed}:{PORT}" for seed in seeds),
        "group_replication_recovery_get_public_key": "ON",
        "group_replication_ip_allowlist": ",".join(seeds),
    }
    given = {
        f"loose-{key}" if key.startswith("group_replication_") else key: value
        for key, value in options.items()
    }
    return [
        *("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog"),
        *("--relay-log=relay", f"--report-host={address}"),
        "--plugin-load-add=group_replication.so",
        *option_arguments({f"loose-{key}": value for key, value in of_group.items()}),
        *option_arguments(given),
    ]


def group_problems(facts: Mapping[str, Sequence[Mapping[str, str]]]) -> tuple[str, ...]:
    """What is wrong with a group whose members see these members."""
    problems = []
    for name, members in facts.items():
        states = Counter(member["member_state"] for member in members)
        if states != {"ONLINE": len(facts)}:
            seen = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            problems.append(f"{name} sees {seen or 'nobody'}, not {len(facts)} ONLINE")
        roles = Counter(member["member_role"] for member in members)
        if roles["PRIMARY"] not in {1, len(facts)}:
            problems.append(f"{name} sees {roles['PRIMARY']} primaries")
    views = {member["view_id"] for members in facts.values() for member in members}
    if len(views) > 1:
        problems.append(f"members are in {len(views)} views")
    return tuple(problems)


def _all_online(server: RigServer, count: int) -> bool:
    online = [row for row in server.query(MEMBERS) if row["member_state"] == "ONLINE"]
    return len(online) == count
