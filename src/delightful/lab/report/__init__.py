"""The report: one HTML file that needs no network."""

from delightful.lab.report.figures import runs_file
from delightful.lab.report.page import write_report

__all__ = ["runs_file", "write_report"]
