"""The claims of Section 4.1 and Appendices C.1–C.3."""

from delightful.paper.bandit.claims import exact, runs

CLAIMS = exact.claims + runs.claims
