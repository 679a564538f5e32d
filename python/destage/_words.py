"""Texts of the command in the words of Python."""

from __future__ import annotations

import re


def in_python(text: str) -> str:
    """Returns a text of the command with its options as arguments of Python: ``--read-alloc`` is ``read_alloc=``.

    >>> in_python("--time-scale 3 (or more); --read-alloc off, --fit")
    'time_scale=3 (or more); read_alloc=off, fit'
    >>> in_python("(--skip-bad-lines counts such lines; --format forces one; --time-unit choose another)")
    '(skip_bad_lines counts such lines; format forces one; time_unit choose another)'
    """
    return _OPTION.sub(_argument, text)


#: An option of the command, and its value if it has one.
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)( (?=[\w.'\"]))?")
#: Options that stand before words that are no values of theirs.
_ALONE = frozenset(
    "says sets slows issues repeats lists needs is and or has as counts forces names choose chooses estimates removes "
    "continues say allows only such".split()
)


def _argument(found: re.Match[str]) -> str:
    name = found[1].replace("-", "_")
    follows = re.match(r"\w+", found.string[found.end() :])
    value = found[2] and not (follows and follows[0] in _ALONE)
    return name + ("=" if value else found[2] or "")
