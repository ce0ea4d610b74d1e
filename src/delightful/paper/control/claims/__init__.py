"""The claims of Section 6 and Appendix E."""

from delightful.paper.control.claims import tasks, third_party

CLAIMS = tasks.claims + third_party.claims
