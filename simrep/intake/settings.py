"""Options of a model as a server has them set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from simrep.contract.card import package_of
from simrep.contract.model import find_model
from simrep.errors import ScenarioError
from simrep.intake.given import Findings, Given
from simrep.intake.product import Product
from simrep.intake.read import Server
from simrep.scenario.options import in_product_spelling, resolve, version_defaults
from simrep.scenario.problems import spellings

__all__ = ["NOT_SIMULATED", "options_for", "value_of"]

_SWITCH = {
    **dict.fromkeys(("on", "1", "yes", "true"), True),
    **dict.fromkeys(("off", "0", "no", "false"), False),
}
_SIZE = re.compile(r"(\d+)([KMGTPE])", re.IGNORECASE)
_POWERS = {letter: 1024 ** (power + 1) for power, letter in enumerate("KMGTPE")}

# What tells the product, its nodes and its version: read elsewhere.
_IDENTITY = {
    "group_replication_group_name",
    "group_replication_group_seeds",
    "wsrep_cluster_address",
    "wsrep_on",
    "wsrep_provider",
    "wsrep_provider_options",
}
NOT_SIMULATED: Mapping[str, str] = MappingProxyType(
    {
        "binlog_format": "writes are simulated as row events",
        "binlog_row_image": "the size of the row events says it: row_bytes",
        "gcache.size": "state transfers take the time that the scenario gives them",
        "gmcast.segment": "segments of all nodes belong into [[node]]",
        "innodb_buffer_pool_size": "data pages cost no I/O",
        "innodb_doublewrite": "data pages cost no I/O",
        "innodb_flush_log_at_timeout": "the background flush costs nothing",
        "innodb_flush_method": "costs.fsync_us says what a flush of the log takes",
        "innodb_io_capacity": "data pages cost no I/O",
        "innodb_log_file_size": "the redo log never runs full",
        "innodb_redo_log_capacity": "the redo log never runs full",
        "thread_handling": "a thread per connection is simulated",
        "transaction_isolation": "row locks of writes alone are simulated",
        "wsrep_sync_wait": "causal reads are not simulated",
    }
)
"""Why options that matter in other respects have no effect."""


def options_for(server: Server, product: Product, found: Findings) -> dict[str, Any]:
    """Options that the files set, in the model's preferred spelling.

    Of running variables only those that are not the version's defaults: a server lists all.
    Options that the model does not have are noted as not simulated.
    """
    model = find_model(product.model)
    table = model.Options
    defaults = version_defaults(package_of(model), product.model, product.version)
    layers = {f"version {product.version}": defaults}
    usual = in_product_spelling(resolve(table, "cluster.options", layers, {}))
    chosen: dict[str, Any] = {}
    used = set(_IDENTITY)
    for spelling, names, annotation in _fields(table):
        used.update(name.lower() for name in names)
        given = _given(server, names)
        if given is None:
            continue
        own = {spelling: value_of(given.value, annotation, spelling)}
        try:
            options = resolve(table, "cluster.options", layers, own)
        except ScenarioError as error:
            found.unused(given, f"{error.problem}; {usual[spelling]!r} is simulated")
            continue
        value = in_product_spelling(options)[spelling]
        configured = any(name.lower() in server.options for name in names)
        if value != usual[spelling] or configured:
            note = _contradiction(server, names, given)
            chosen[spelling] = found.read(f"cluster.options.{spelling}", value, [given.place], note)
    for name, given in server.options.items():
        if name not in used:
            found.unused(given, NOT_SIMULATED.get(name, ""))
    return chosen


def _fields(table: type[BaseModel]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """The preferred spelling of every option, all its names in a server, and its type."""
    for field_name, field in table.model_fields.items():
        first, *others = spellings(field_name, field)
        names = [first, *others]
        # MariaDB 11 has provider options as variables, too: wsrep_provider_evs_send_window.
        names += ["wsrep_provider_" + name.replace(".", "_") for name in names if "." in name]
        yield first, tuple(names), field.annotation


def _given(server: Server, names: tuple[str, ...]) -> Given | None:
    """As it runs, or else as the option file sets it last."""
    running = [server.variables[name.lower()] for name in names if name.lower() in server.variables]
    if running:
        return running[0]
    order = list(server.options)
    configured = [name.lower() for name in names if name.lower() in server.options]
    return server.options[max(configured, key=order.index)] if configured else None


def _contradiction(server: Server, names: tuple[str, ...], given: Given) -> str:
    """What the option file says, if the running server has another value."""
    for name in names:
        other = server.options.get(name.lower())
        if other is not None and other.value.lower() != given.value.lower():
            return f"{other.place.file}:{other.place.line} says {other.value}"
    return ""


def value_of(text: str, annotation: Any, name: str = "") -> Any:
    """A value as the type of an option wants it; the text itself where it does not fit.

    Parameters
    ----------
    text : str
        As a server or an option file writes it: ``ON``, ``1``, ``128M``, ``PT1S``.
    annotation : type
    name : str, optional
        Of the option; a file name for ``log_bin`` means that there is one.
    """
    lower = text.strip().lower()
    if annotation is bool:
        return _SWITCH.get(lower, True if name == "log_bin" and lower else text)
    if get_origin(annotation) is Literal:
        by_lower = {str(choice).lower(): choice for choice in get_args(annotation)}
        return by_lower.get(lower, text)
    if annotation in {int, float}:
        return _number(text.strip(), annotation)
    return text


def _number(text: str, kind: type[int | float]) -> Any:
    if (match := _SIZE.fullmatch(text)) is not None:
        return kind(int(match[1]) * _POWERS[match[2].upper()])
    try:
        value = float(text)
    except ValueError:
        return text  # a duration such as PT0.5S, which the model itself reads
    whole = kind is int and value.is_integer()
    return int(text) if kind is int and text.isdigit() else int(value) if whole else value
