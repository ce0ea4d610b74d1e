"""The figures of Section 6 and Appendix E."""

from delightful.paper.control.figures import baseline, tasks, third_party

FIGURES = tasks.FIGURES + baseline.FIGURES + third_party.FIGURES
