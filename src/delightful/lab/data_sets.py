"""Data sets that the cells of a program share."""

from collections.abc import Callable
from typing import Generic, TypeVar

Data = TypeVar("Data")


class DataSet(Generic[Data]):
    """A function that loads a data set: called, it loads the data once in a process.

    A runner may give the data to a process on a machine that has no files of it.

    Args:
        load: What loads it.
    """

    def __init__(self, load: Callable[[], Data]) -> None:
        self._load, self._loaded = load, list[Data]()
        self.__doc__ = load.__doc__

    def __call__(self) -> Data:
        if not self._loaded:
            self._loaded.append(self._load())
        return self._loaded[0]

    def give(self, data: Data) -> None:
        """Have `data` returned from here on, without loading it."""
        self._loaded[:] = [data]

    def clear(self) -> None:
        """Load it again when it is next called."""
        self._loaded.clear()
