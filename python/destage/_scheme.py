"""Scheme expressions: compositions of schemes, built by functions or written as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Union

from destage import _destage

if TYPE_CHECKING:
    from destage._policy import Declared, OwnScheme

#: A value of a parameter: a number, a word, text with a unit such as ``"128KiB"``, or a list of numbers.
Value = Union[bool, int, float, str, Sequence[float]]


class Scheme:
    """A cache scheme: layers around a policy, with their parameters.

    Functions such as :func:`destage.awb` build one; ``str`` of it is the expression that the command takes.

    >>> import destage as ds
    >>> ds.awb(ds.prober("lirs", ssp="128KiB"))
    awb(prober(lirs,ssp=128KiB))
    """

    __slots__ = ("text", "own")

    def __init__(self, text: str, own: tuple[Declared, ...] = ()) -> None:
        #: The expression.
        self.text = text
        #: Schemes of one's own that stand in it.
        self.own = own

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scheme):
            return NotImplemented
        return self.text == other.text and self.own == other.own

    def __hash__(self) -> int:
        return hash(self.text)


def number(value: float) -> str:
    """A number as expressions and sizes write it: without an exponent."""
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text


def written(value: Value) -> str:
    """A value as an expression writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return number(float(value))
    return "[" + ",".join(written(float(part)) for part in value) + "]"


def expression(name: str, inside: Sequence[str], given: Mapping[str, Value | None]) -> str:
    """The text of a layer; what is None is left out."""
    params = [f"{key}={written(value)}" for key, value in given.items() if value is not None]
    arguments = ",".join([*inside, *params])
    return f"{name}({arguments})" if arguments else name


def checked(text: str, own: tuple[Declared, ...]) -> Scheme:
    """The scheme of an expression, whose parameters and layers are checked as far as that needs no run."""
    _destage.check_scheme(text, [declared.native for declared in own])
    return Scheme(text, own)


def scheme_of(scheme: SchemeLike) -> Scheme:
    """A scheme from its text, from a scheme of one's own, or as it is."""
    from destage._policy import OwnScheme

    if isinstance(scheme, Scheme):
        return scheme
    if isinstance(scheme, str):
        return Scheme(scheme)
    if isinstance(scheme, OwnScheme):
        return scheme.scheme()
    if isinstance(scheme, type) and issubclass(scheme, OwnScheme):
        return scheme_of(scheme())
    raise TypeError(
        f"a scheme is text, what a function such as destage.awb gives, or a destage.Policy; not {scheme!r}"
    )


def policy(name: str, given: Mapping[str, Value | None], members: Sequence[SchemeLike] = ()) -> Scheme:
    """A policy with its parameters, and the policies that it chooses among if it does that."""
    inside = [scheme_of(member) for member in members]
    own = {declared: None for scheme in inside for declared in scheme.own}
    return checked(expression(name, [scheme.text for scheme in inside], given), tuple(own))


def layer(name: str, inner: SchemeLike, given: Mapping[str, Value | None]) -> Scheme:
    """A layer around a scheme."""
    inside = scheme_of(inner)
    return checked(expression(name, (inside.text,), given), inside.own)


#: What stands for a scheme.
SchemeLike = Union[str, Scheme, "OwnScheme", "type[OwnScheme]"]
