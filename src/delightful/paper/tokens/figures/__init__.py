"""The figures of Section 5 and Appendix D."""

from delightful.paper.tokens.figures.curves import FIGURES

__all__ = ["FIGURES"]
