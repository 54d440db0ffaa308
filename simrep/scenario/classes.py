"""Classes of transactions in a scenario: what one of each kind does, and to which rows."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.table import (
    Bytes,
    Exponent,
    Fraction,
    Iterations,
    Milliseconds,
    Name,
    Pages,
    Repeats,
    Rows,
    Seconds,
    Share,
    Statements,
    StepRows,
    Table,
    TableRows,
    Tables,
    TextBytes,
    Weight,
    seconds,
)
from simrep.workload.classes import Step, TransactionClass
from simrep.workload.keys import Distribution, Keys

__all__ = ["ClassTable", "KeysTable", "KindTable", "ScheduledTable", "StepTable"]

_MOST_LISTED = 1_000_000  # rows of a transaction that are listed one by one
_MOST_RANKED = 20_000_000  # rows of a table that are chosen by their rank: 160 MB
_MOST_BYTES = 10_000_000_000  # of the rows that a transaction writes


class KeysTable(Table):
    """Which rows are written."""

    distribution: Distribution = Field(
        "fresh",
        description="fresh: inserts under new keys; the others choose among existing rows; scan: "
        "always from the first row on",
    )
    rows: TableRows = Field(100_000, description="rows of the table")
    exponent: Exponent = Field(1.0, description="of zipf; 0 is uniform")
    hot_rows: TableRows = Field(10, description="of hot: how many rows are hot")
    hot_fraction: Fraction = Field(0.9, description="of hot: share of the choices that hit them")
    tables: Tables = Field(
        1, description="so many tables of that size, one of which is chosen evenly each time"
    )
    iterations: Iterations = Field(
        12, description="of gaussian: so many uniform numbers have the place as their mean"
    )
    pareto_h: Share = Field(
        0.2, description="of pareto: the first share h of the rows gets 1 - h of the choices"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        given = self.model_fields_set
        if given and "distribution" not in given:
            raise ScenarioError(
                "distribution",
                f"is required when {min(given)} is given",
                "one of fresh, uniform, zipf, hot, gaussian, pareto, scan",
            )
        if self.distribution == "zipf" and self.rows > _MOST_RANKED:
            raise ScenarioError(
                "rows",
                f"of zipf must be at most {_MOST_RANKED:,}, given {self.rows:,}",
                "every rank takes 8 bytes of memory; the first of them get most of the choices",
            )
        if self.distribution == "hot" and self.hot_rows > self.rows:
            raise ScenarioError(
                "hot_rows", f"must be at most rows = {self.rows}, given {self.hot_rows}"
            )
        return self

    def keys(self) -> Keys:
        """The same for the engine."""
        return Keys(
            self.distribution,
            self.rows,
            self.exponent,
            self.hot_rows,
            self.hot_fraction,
            self.tables,
            self.iterations,
            self.pareto_h,
        )


class StatementsTable(Table):
    """Statements of one kind: those that read come before those that write."""

    statements: Statements = Field(1, description="statements that write")
    rows: Rows = Field(1, description="rows that each of them writes, neighbours")
    row_bytes: Bytes = Field(100, description="size of the row event of one row")
    statement_bytes: TextBytes | None = Field(
        None,
        description="size of the text of a statement that writes; default: an insert carries its "
        "rows, an update has 100 bytes",
    )
    reads: Statements = Field(0, description="statements that read one row")
    range_reads: Statements = Field(0, description="statements that read a range of rows")
    range_rows: Rows = Field(100, description="length of such a range")
    keys: KeysTable = Field(default_factory=KeysTable, description="which rows are written")
    table: Name = Field(
        "t1", description="classes and steps that name the same table meet in its rows"
    )

    @model_validator(mode="after")
    def _rows_exist(self) -> Self:
        if not self.statements + self.reads + self.range_reads:
            raise ScenarioError("statements", "at least one statement is needed")
        if self.statements and self.keys.distribution != "fresh" and self.rows > self.keys.rows:
            raise ScenarioError(
                "rows", f"must be at most keys.rows = {self.keys.rows}, given {self.rows}"
            )
        return self

    def kind(self) -> dict[str, Any]:
        """The same for the engine: a ``Step`` by the names of its attributes."""
        return {name: getattr(self, name) for name in _KIND} | {"keys": self.keys.keys()}


_KIND = tuple(name for name in StatementsTable.model_fields if name != "keys")


class KindTable(StatementsTable):
    """What transactions of one kind do."""

    name: Name = Field("write", description="name under which it is reported")
    autocommit: bool | None = Field(
        None,
        strict=True,
        description="the statement commits by itself; default: when there is only one",
    )
    primary_key: bool = Field(
        True,
        strict=True,
        description="false: inserted rows are identical and certified by their content",
    )
    load_data: bool = Field(False, strict=True, description="the statement is a LOAD DATA")
    pause_ms: Milliseconds = Field(
        0.0, description="pause of the client before every statement but the first"
    )
    xa_hold_ms: Milliseconds | None = Field(
        None,
        description="the transaction is prepared with XA PREPARE, and committed with XA COMMIT so "
        "much later; default: no XA",
    )
    session: dict[str, Any] = Field(
        default_factory=dict,
        description="session variables of its client in the product's own spelling, e.g. "
        "wsrep_trx_fragment_size",
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        total = self.statements + self.reads + self.range_reads
        if self.autocommit and total > 1:
            raise ScenarioError("autocommit", f"{total} statements cannot be one autocommit")
        if self.load_data and (self.statements != 1 or self.keys.distribution != "fresh"):
            raise ScenarioError("load_data", "is one statement that inserts new rows")
        if self.load_data and self.xa_hold_ms is not None:
            raise ScenarioError(
                "xa_hold_ms",
                "a LOAD DATA that is split commits on the way, which an XA transaction cannot",
                "leave out load_data: the same rows in one statement",
            )
        if self.xa_hold_ms is not None and self.autocommit:
            raise ScenarioError("xa_hold_ms", "an XA transaction is not an autocommit statement")
        written = self.statements * self.rows
        if self.statements > 1 and self.rows <= 1000 and written > _MOST_LISTED:
            raise ScenarioError(
                "statements",
                f"times rows must be at most {_MOST_LISTED:,}, given {written:,}",
                "above 1,000 rows in a statement they are no longer listed one by one",
            )
        if written * self.row_bytes > _MOST_BYTES:
            raise ScenarioError(
                "row_bytes",
                f"times rows and statements must be at most {_MOST_BYTES:.0e}, given "
                f"{written * self.row_bytes:.3g}",
                "positions in a binary log end at 4 GB, and so does a transaction",
            )
        return self

    def transaction_class(self) -> TransactionClass:
        """The same for the engine; session variables are the model's affair."""
        total = self.statements + self.reads + self.range_reads
        by_itself = total == 1 and self.xa_hold_ms is None
        return TransactionClass(
            name=self.name,
            weight=getattr(self, "weight", 1.0),
            autocommit=by_itself if self.autocommit is None else self.autocommit,
            primary_key=self.primary_key,
            load_data=self.load_data,
            pause_s=seconds(self.pause_ms),
            xa_hold_s=None if self.xa_hold_ms is None else seconds(self.xa_hold_ms),
            session=self.session or None,
            **self.kind(),
        )


class StepTable(StatementsTable):
    """A ``[[workload.class.step]]``."""

    statements: Statements = Field(0, description="statements that write")
    rows: StepRows = Field(1, description="rows that each of them writes, neighbours")
    for_update: bool = Field(
        False,
        strict=True,
        description="a SELECT ... FOR UPDATE of its rows goes before each statement that writes",
    )
    loop: bool = Field(False, strict=True, description="it is repeated with its neighbours")
    pages: Pages | None = Field(
        None,
        description="pages of data that each statement needs which changes existing rows: 0 if "
        "they are of a small table, which stays in memory; default: those of its rows, which are "
        "neighbours",
    )
    read_pages: Pages | None = Field(
        None, description="the same of each statement that reads; scattered rows have a page each"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.for_update and not (self.statements and self.keys.distribution != "fresh"):
            raise ScenarioError(
                "for_update",
                "needs statements that write existing rows",
                'keys.distribution, e.g. "uniform"',
            )
        return self

    def step(self) -> Step:
        """The same for the engine."""
        return Step(
            **self.kind(),
            for_update=self.for_update,
            looped=self.loop,
            pages=self.pages,
            read_pages=self.read_pages,
        )


class ClassTable(KindTable):
    """A ``[[workload.class]]``: transactions of one kind."""

    weight: Weight = Field(1.0, description="share of the mix, relative to the other classes")
    steps: tuple[StepTable, ...] = Field(
        (), alias="step", description="statements of several kinds, in this order"
    )
    loop: tuple[Repeats, ...] = Field(
        (1, 1),
        min_length=2,
        max_length=2,
        description="steps of the loop are repeated from so many to so many times",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        """The statements are described in one place."""
        looped = any(step.loop for step in self.steps)
        if looped is (self.loop == (1, 1)):
            raise ScenarioError(
                "loop",
                "how often (loop = [5, 15]) and which steps (loop = true) go together, given "
                f"{list(self.loop)} and {sum(step.loop for step in self.steps)} such steps",
            )
        for name, field in KindTable.model_fields.items() if self.steps else ():
            same = getattr(self, name) == field.get_default(call_default_factory=True)
            if name != "name" and not same:
                raise ScenarioError(
                    name, "does not go with steps", "say it in a step, or leave out the steps"
                )
        if self.loop[0] > self.loop[1]:
            raise ScenarioError("loop", f"must be [least, most], given {list(self.loop)}")
        return self

    @property
    def writes(self) -> bool:
        """Whether its transactions write."""
        return any(step.statements for step in self.steps or (self,))

    def transaction_class(self) -> TransactionClass:
        """The same for the engine; session variables are the model's affair."""
        if not self.steps:
            return super().transaction_class()
        return TransactionClass(
            name=self.name,
            weight=self.weight,
            autocommit=False,
            steps=tuple(step.step() for step in self.steps),
            loop=(self.loop[0], self.loop[1]),
        )


class ScheduledTable(KindTable):
    """A ``[[workload.scheduled]]``: one transaction at a given time, such as a large update."""

    name: Name = Field("large", description="name under which it is reported")
    at_s: Seconds = Field(0.0, description="when its client begins, in simulated seconds")
    node: Name | None = Field(None, description="node that it is submitted to; default: the first")
