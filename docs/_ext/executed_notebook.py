"""Pages from executed notebooks: their text, code and outputs, as they were committed.

myst-nb does more than this, runs notebooks too, and brings 38 more packages.
"""

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

_FENCE = "``````"  # longer than any inside a cell


def markdown_of(notebook: dict[str, Any]) -> str:
    """The notebook as one MyST page."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(f"{_FENCE}python\n{source}\n{_FENCE}")
            parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(filter(None, parts)) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "error":
        raise ValueError(f"a cell of the notebook raised {output['ename']}: {output['evalue']}")
    if output["output_type"] == "stream":
        return _text(output["text"])
    if "image/png" in output["data"]:
        image = "".join(output["data"]["image/png"]).replace("\n", "")
        return f"![Output of the cell above](data:image/png;base64,{image})"
    return _text(output["data"].get("text/plain", ""))


def _text(text: str | list[str]) -> str:
    shown = "".join(text).rstrip()
    return f"{_FENCE}{{code-block}} text\n:class: output\n\n{shown}\n{_FENCE}" if shown else ""


class NotebookParser(MystParser):
    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        super().parse(markdown_of(json.loads(inputstring)), document)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
