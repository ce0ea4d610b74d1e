"""The figures of Section 6 and Appendix E."""

from delightful.paper.control.figures import tasks, third_party

FIGURES = tasks.figures + third_party.figures
