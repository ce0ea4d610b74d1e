"""Figures that are drawn twice, once for each reading of the actor's update."""

from collections.abc import Callable
from functools import partial

from delightful.lab.experiment import Draw, FigureBook
from delightful.paper.control import sweep


def for_both(figures: FigureBook) -> Callable[..., Callable[[Draw], Draw]]:
    """A decorator that adds a figure to the book for each reading: the first is the paper's."""

    def both(
        number: str,
        title: str,
        kind: str,
        *,
        caption: str = "",
        name: str = "",
        appendix: bool = False,
    ) -> Callable[[Draw], Draw]:
        def register(draw: Draw) -> Draw:
            ours = name or draw.__name__.replace("_", "-")
            first, second = (getattr(sweeps, kind) for sweeps in sweep.READINGS)
            add = partial(figures.add, caption=caption)
            add(number, title, sweep=first, name=ours, appendix=appendix)(draw)
            also, titled = (f"{words}, {second.reading}" for words in (number, title))
            add(also, titled, sweep=second, name=f"{ours}-replayed", appendix=True)(draw)
            return draw

        return register

    return both
