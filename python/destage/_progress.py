"""A bar of tqdm, where there is one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Optional

#: Called with what is done, what there is to do, and more that is not shown.
Told = Optional[Callable[..., None]]


@contextmanager
def follow(wanted: bool | None, label: str, unit: str) -> Iterator[Told]:
    """A function that moves a bar, or None. ``wanted`` is None: if tqdm is there and somebody looks."""
    if wanted is False or (wanted is None and not (sys.stderr and sys.stderr.isatty())):
        yield None
        return
    try:
        with warnings.catch_warnings():
            # In notebooks without widgets it says so, and shows a plain bar.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        if wanted:
            raise
        yield None
        return
    with tqdm(desc=label, unit=unit, unit_scale=True, leave=False, delay=0.3) as bar:

        def told(done: int, total: int, *_: int) -> None:
            if total:
                bar.total = total
            bar.update(done - bar.n)

        yield told
