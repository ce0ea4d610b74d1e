"""DG inside training stacks: one module per framework, each importing its framework.

Every plug-in multiplies the advantage that the framework's own loss uses by the estimator's gate.
The gate is positive, so clips, ratios and every test of the advantage's sign stay as they are.
"""
