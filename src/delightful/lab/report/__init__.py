"""The report: one HTML file that needs no network."""

from delightful.lab.report.page import write_report

__all__ = ["write_report"]
