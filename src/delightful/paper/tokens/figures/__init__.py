"""The figures of Section 5 and Appendix D."""

from delightful.paper.tokens.figures import appendix, beyond, main_text

FIGURES = main_text.figures + appendix.figures + beyond.figures
