"""Why predictions of a dataset are off, as far as it is known: ``causes.toml`` beside the data.

The rig writes ``dataset.toml`` anew; what people have found out about its cells stays in a file of
its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simrep.data.dataset import Dataset
from simrep.data.definition import Value
from simrep.errors import ScenarioError, nearest
from simrep.scenario.problems import combined, problems
from simrep.user_files import is_file, parse_toml, read_text

__all__ = ["CAUSES", "Cause", "cause_of", "load_causes"]

CAUSES = "causes.toml"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cause(_Table):
    """Why predicted figures of some cells are off."""

    name: str = Field(min_length=1, max_length=40, description="in a table, beside each figure")
    text: str = Field(min_length=1, description="in a sentence or two: the mechanism that is "
                      "missing or wrong, and how one knows")  # fmt: skip
    where: dict[str, tuple[Value, ...]] = Field(
        {}, description="factors and values of the cells; without any, all cells"
    )
    metrics: tuple[str, ...] = Field((), description="columns of the figures; default: all")

    def explains(self, factors: Mapping[str, Value], metric: str) -> bool:
        """Whether it is about a figure of a cell with these factors."""
        if self.metrics and metric not in self.metrics:
            return False
        return all(factors.get(name) in values for name, values in self.where.items())


class _Causes(_Table):
    cause: tuple[Cause, ...] = ()


def load_causes(dataset: Dataset) -> tuple[Cause, ...]:
    """The known causes of what is off in a dataset; none without a ``causes.toml``.

    Raises
    ------
    ScenarioError
        If the file cannot be read, names a factor or a figure that the dataset does not have, or
        has a cause that is about no measured figure.
    """
    where = f"{dataset.name}/{CAUSES}"
    path = dataset.folder / CAUSES
    if not is_file(path):
        return ()
    try:
        found = _Causes.model_validate(parse_toml(read_text(path, where), where))
    except ValidationError as error:
        raise combined(problems(error, _Causes), where) from None
    columns = [metric.column for metric in dataset.definition.metrics]
    measured = [
        (cell.factors, column)
        for cells in dataset.cells.values()
        for cell in cells
        for column in cell.values
    ]
    factors = dict.fromkeys(name for own, _ in measured for name in own)
    for number, cause in enumerate(found.cause):
        place = f"{where}: cause.{number}"
        _check(f"{place}.where", "factor", cause.where, factors)
        _check(f"{place}.metrics", "figure", cause.metrics, columns)
        if not any(cause.explains(own, column) for own, column in measured):
            raise ScenarioError(place, f"{cause.name!r} is about no measured figure")
    return found.cause


def _check(place: str, kind: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ScenarioError(place, f"{name!r} is no {kind}", nearest(name, known))


def cause_of(causes: Sequence[Cause], factors: Mapping[str, Value], metric: str) -> Cause | None:
    """The first cause that is about a figure; None if none is known."""
    return next((cause for cause in causes if cause.explains(factors, metric)), None)
