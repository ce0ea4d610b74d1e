"""The claims of Section 3 and Appendix B."""

from delightful.paper.mnist.claims import generalisation, main_text, sensitivity

CLAIMS = main_text.claims + generalisation.claims + sensitivity.claims
