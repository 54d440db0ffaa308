"""Results as JSON can hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any, overload

import numpy as np

__all__ = ["plain"]


@overload
def plain(value: Mapping[str, Any]) -> dict[str, Any]: ...
@overload
def plain(value: object) -> Any: ...
def plain(value: Any) -> Any:
    """The same in what JSON knows: dict, list, str, int, float, bool and None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
