"""The figures of Section 6 and Appendix E."""

from delightful.paper.control.figures import gate, tasks, third_party

FIGURES = tasks.figures + gate.figures + third_party.figures
