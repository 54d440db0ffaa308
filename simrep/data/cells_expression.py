"""Which cells are meant, said in words over their factors: ``threads <= 16 and delay_ms == 0``.

The words are those of Python, and only what compares is understood: nothing is evaluated but
comparisons, ``and``, ``or``, ``not`` and lists of values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping

from simrep.data.definition import Value
from simrep.errors import ScenarioError, nearest

__all__ = ["CellCondition", "cells_expression"]

CellCondition = Callable[[Mapping[str, Value]], bool]
"""Whether a cell with these factors is meant."""

_Given = Callable[[Mapping[str, Value]], object]

_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,  # type: ignore[dict-item]
    ast.LtE: operator.le,  # type: ignore[dict-item]
    ast.Gt: operator.gt,  # type: ignore[dict-item]
    ast.GtE: operator.ge,  # type: ignore[dict-item]
    ast.In: lambda value, several: value in several,  # type: ignore[operator]
    ast.NotIn: lambda value, several: value not in several,  # type: ignore[operator]
}
_EXAMPLE = "for example: threads <= 16 and layout in ('lan', 'wan')"


def cells_expression(text: str, factors: Collection[str], option: str = "--cells") -> CellCondition:
    """From an expression over factors, the function that tells which cells are meant.

    Factors are compared with numbers or texts (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``,
    ``in``, ``not in``); ``and``, ``or``, ``not`` and parentheses join comparisons. ``option`` is
    where the text stands, for messages; the function refuses to compare a text with a number.

    Examples
    --------
    >>> meant = cells_expression("threads <= 16 and delay_ms == 0", ["threads", "delay_ms"])
    >>> meant({"threads": 4, "delay_ms": 0}), meant({"threads": 4, "delay_ms": 50})
    (True, False)
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        meant = _Reader(factors, option).condition(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(option, f"{text!r} is not a condition", _EXAMPLE) from None

    def checked(cell: Mapping[str, Value]) -> bool:
        try:
            return meant(cell)
        except TypeError:
            raise ScenarioError(
                option, f"{text!r} compares texts with numbers: {dict(cell)}", _EXAMPLE
            ) from None

    return checked


class _Reader:
    """Turns the nodes that are understood into functions of a cell, and refuses all others."""

    def __init__(self, factors: Collection[str], option: str) -> None:
        self._factors = factors
        self._option = option

    def condition(self, node: ast.expr) -> CellCondition:
        """What is true or false."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                every = [self.condition(value) for value in values]
                return lambda cell: all(one(cell) for one in every)
            case ast.BoolOp(op=ast.Or(), values=values):
                some = [self.condition(value) for value in values]
                return lambda cell: any(one(cell) for one in some)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                refused = self.condition(operand)
                return lambda cell: not refused(cell)
            case ast.Compare():
                return self._comparison(node)
        raise self._not_understood(node)

    def _comparison(self, node: ast.Compare) -> CellCondition:
        sides = [node.left, *node.comparators]
        steps = []
        for number, op in enumerate(node.ops):
            compare = _COMPARISONS.get(type(op))
            if compare is None:
                raise self._not_understood(node)
            several = isinstance(op, (ast.In, ast.NotIn))
            value, other = sides[number], sides[number + 1]
            steps.append((compare, self._value(value), self._values(other, several=several)))
        return lambda cell: all(
            compare(value(cell), other(cell)) for compare, value, other in steps
        )

    def _values(self, node: ast.expr, *, several: bool) -> _Given:
        if not several:
            return self._value(node)
        if not isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            raise self._not_understood(node)
        each = [self._value(element) for element in node.elts]
        return lambda cell: [value(cell) for value in each]

    def _value(self, node: ast.expr) -> _Given:
        match node:
            case ast.Name(id=name):
                if name not in self._factors:
                    hint = nearest(name, self._factors)
                    raise ScenarioError(self._option, f"no factor {name!r}", hint)
                return lambda cell: cell[name]
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                return lambda _cell: constant
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                negative = -number
                return lambda _cell: negative
        raise self._not_understood(node)

    def _not_understood(self, node: ast.expr) -> ScenarioError:
        problem = f"{ast.unparse(node)!r} is not understood: only comparisons of factors are"
        return ScenarioError(self._option, problem, _EXAMPLE)
