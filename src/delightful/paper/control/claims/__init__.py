"""The claims of Section 6 and Appendix E."""

from delightful.paper.control.claims import tasks, third_party, tuning

CLAIMS = tasks.claims + tuning.claims + third_party.claims
