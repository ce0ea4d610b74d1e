"""DG inside training stacks: one module per framework, each importing its framework.

Every plug-in multiplies the advantage that the framework's own loss uses by the estimator's gate.
The gate is never negative, so clips, ratios and every test of the advantage's sign stay as they
are; where it is 0, so is the term.
"""
