"""The figures of Section 5 and Appendix D."""

from delightful.paper.tokens.figures import appendix, main_text

FIGURES = main_text.figures + appendix.figures
