"""Runners: cells in, finished cells in the store. In this process, on local processes, or on Ray.

Every runner computes a cell with `running.compute`, so all of them store the same bytes; what
differs is where it runs. A runner yields each cell as it is finished or has failed, in no
particular order.
"""

from delightful.lab.runners.local import LocalRunner, cores, run_here
from delightful.lab.runners.running import Outcome, Runner, compute, run_cell

__all__ = ["LocalRunner", "Outcome", "Runner", "compute", "cores", "run_cell", "run_here"]
