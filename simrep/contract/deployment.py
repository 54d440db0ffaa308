"""Ways to deploy a product in several regions, as its model tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["KEEPS", "Deployment", "Keeps"]

Keeps = Literal["all", "majority", "replica", "none"]
"""Which copies an answered transaction surely has.

``all``: every server has received it; ``majority``: most servers have; ``replica``: at least one
other server has, here or elsewhere; ``none``: only the server that answered.
"""
KEEPS: tuple[Keeps, ...] = ("all", "majority", "replica", "none")
"""The safest first, which is the order in which they are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A product with settings of its own, which ``plan product`` tries; a server in every region.

    Parameters
    ----------
    name : str
        As people write it.
    keeps : {"all", "majority", "replica", "none"}
        Which copies an answered transaction surely has.
    here : tuple of int
        Servers in the region that writes, where there is one; one layout for each number.
    options : mapping of str to value
        Settings, in the product's own spelling.
    writers : mapping of str to value, optional
        Settings instead of these where clients write in several regions; None: they cannot.
    """

    name: str
    keeps: Keeps
    here: tuple[int, ...] = (1,)
    options: Mapping[str, Any] = field(default_factory=dict)
    writers: Mapping[str, Any] | None = None
