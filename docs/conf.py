"""The docs site: `make docs` builds it into docs/_build/html, without a network.

Sphinx, with MyST for Markdown and Furo as the theme, is the generator that is both maintained (9.2
in October 2026; MkDocs had its last release in August 2024, Material for MkDocs gets only fixes
until May 2027, Zensical is at 0.0.x) and able by itself to read docstrings and to check every
reference. Its pages need neither a server nor a CDN: fonts are the system's, search is a file,
formulas are MathML.
"""

import sys
from pathlib import Path

import delightful

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "delightful"
author = "The delightful authors"
copyright = "2026, The delightful authors"
version = release = delightful.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "executed_notebook",
    "mathml",
    "plain_docstrings",
]
source_suffix = {".md": "markdown", ".ipynb": "notebook"}
# Figures and tables: pages show, include and link to them.
exclude_patterns = ["_build", "results"]

# An unresolved reference is a warning, and `make docs` makes warnings errors. Types in signatures
# may be of libraries whose documentation is not at hand: those are not looked up.
nitpicky = True
nitpick_ignore_regex = [("py:(class|data|obj)", ".*")]

myst_enable_extensions = ["colon_fence", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_update_mathjax = False

default_role = "code"
python_maximum_signature_line_length = 88
python_display_short_literal_types = True
# So that the pages are the same whether or not the frameworks are installed.
autodoc_mock_imports = [
    "dm_control",
    "envpool",
    "gymnasium",
    "imageio_ffmpeg",
    "mujoco",
    "ray",
    "safetensors",
    "stable_baselines3",
    "tensorboardX",
    "tensordict",
    "torch",
    "torchrl",
    "transformers",
    "trl",
    "verl",
]
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"delightful {version}"
html_static_path = ["_static"]
html_css_files = ["delightful.css"]
html_math_renderer = "mathml"
html_copy_source = False
