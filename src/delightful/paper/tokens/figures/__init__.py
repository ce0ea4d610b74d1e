"""The figures of Section 5 and Appendix D."""

from delightful.paper.tokens.figures import appendix, author, main_text, staleness, turning

FIGURES = [
    *(main_text.figures + appendix.figures),
    *(staleness.figures + turning.figures + author.figures),
]
