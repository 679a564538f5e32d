"""Parts of records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any


class Fields(Mapping[str, Any]):
    """A part of a record: its fields are attributes, and items by their name.

    >>> f = Fields({"page_hits": 3, "erases": 1})
    >>> f.page_hits, f["erases"], list(f)
    (3, 1, ['page_hits', 'erases'])
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    # Fields that are declared are known to tools; a name that is none of them is an error there, too.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            try:
                return self[name]
            except KeyError:
                known = ", ".join(self._fields)
                told = f"there are: {known}" if known else "it has none"
                raise AttributeError(f"no field {name!r} in this record; {told}") from None

    def __getitem__(self, name: str) -> Any:
        value = self._fields[name]
        return Fields(value) if isinstance(value, dict) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __eq__(self, other: object) -> bool:
        return self._fields == other._fields if isinstance(other, Fields) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._fields, sort_keys=True))

    def __repr__(self) -> str:
        return repr(self._fields)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return json.loads(json.dumps(self._fields))  # type: ignore[no-any-return]
