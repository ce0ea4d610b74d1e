"""The claims of Section 3 and Appendix B."""

from delightful.paper.mnist.claims import appendix, main_text

CLAIMS = main_text.claims + appendix.claims
