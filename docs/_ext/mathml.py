"""Formulas as MathML, which browsers draw themselves: MathJax would be loaded from a CDN."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_LOGGER = logging.getLogger(__name__)


def _convert(translator: HTML5Translator, node: nodes.Element, *, as_block: bool) -> None:
    try:
        translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        _LOGGER.warning("formula %r: %s", node.astext(), error, location=node)
    raise nodes.SkipNode


def _inline(translator: HTML5Translator, node: nodes.Element) -> None:
    _convert(translator, node, as_block=False)


def _block(translator: HTML5Translator, node: nodes.Element) -> None:
    _convert(translator, node, as_block=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
