"""The figures of Section 6 and Appendix E."""

from delightful.paper.control.figures import baseline, tasks, third_party

FIGURES = tasks.figures + baseline.figures + third_party.figures
