"""The claims of Section 5 and Appendix D."""

from delightful.paper.tokens.claims import main_text, robustness, tuning

CLAIMS = main_text.claims + tuning.claims + robustness.claims
