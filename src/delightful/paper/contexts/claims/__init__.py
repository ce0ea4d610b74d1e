"""The claims of Section 4.2 and Appendices C.4–C.6."""

from delightful.paper.contexts.claims import exact, runs

CLAIMS = exact.claims + runs.claims
