"""The figures of Section 6 and Appendix E."""

from delightful.paper.control.figures import gate, grid, tasks, third_party

FIGURES = tasks.figures + gate.figures + grid.figures + third_party.figures
