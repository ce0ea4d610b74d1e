"""The claims of Sections 2 and 7 and Appendix A."""

from delightful.paper.gate.claims import score_weights, the_gate

CLAIMS = the_gate.claims + score_weights.claims
