"""Progress of long work, by tqdm where it is installed."""
from __future__ import annotations

from typing import Any, Callable, Optional, Union

Progress = Union[bool, Callable[[str, int, int], None]]


class _Bars:
    """A bar for each kind of work, which ends where the next begins."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm, self._bar, self._what = tqdm, None, ""

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._bar is None or what != self._what:
            self.close()
            self._bar, self._what = self._tqdm(total=total, desc=what, leave=False), what
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class showing:
    """with showing(progress) as function: the library calls it with (what, done, total)."""

    def __init__(self, progress: Progress) -> None:
        self._function: Optional[Callable[[str, int, int], None]] = None
        if callable(progress):
            self._function = progress
        elif progress:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._function = _Bars(tqdm)

    def __enter__(self) -> Optional[Callable[[str, int, int], None]]:
        return self._function

    def __exit__(self, *exception: object) -> None:
        if isinstance(self._function, _Bars):
            self._function.close()
