"""Section 6 and Appendix E: continuous control, with Retrace and replay."""
