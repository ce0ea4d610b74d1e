"""The figures of Section 3 and Appendix B."""

from delightful.paper.mnist.figures import appendix, beyond, main_text

FIGURES = main_text.figures + appendix.figures + beyond.figures
