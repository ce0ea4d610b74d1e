"""The claims of Section 4.1 and Appendices C.1–C.3."""

from delightful.paper.bandit.claims import appendix_c, proposition_1, runs

CLAIMS = proposition_1.claims + appendix_c.claims + runs.claims
