"""Small pieces of HTML that several parts of the report use."""

from html import escape

from delightful.lab.verdicts import VERDICTS, Verdict
from delightful.lab.wording import minus


def kind(verdict: Verdict) -> str:
    """A verdict as the name of a CSS class."""
    return verdict.replace(" ", "-")


def chip(verdict: Verdict, link: str = "") -> str:
    """A verdict in its colour, with what it means on hover."""
    about = f'class="chip {kind(verdict)}" title="{escape(VERDICTS[verdict])}"'
    if link:
        return f'<a {about} href="#{escape(link)}">{verdict}</a>'
    return f"<span {about}>{verdict}</span>"


def command(text: str) -> str:
    """A command with a button that copies it."""
    return (
        f'<div class="command"><code>{escape(text)}</code>'
        '<button type="button" class="copy" aria-label="Copy the command">Copy</button></div>'
    )


def paragraph(text: str, style: str = "", start: str = "") -> str:
    """A paragraph, or nothing if there is no text; `start` stands before it in bold."""
    if not text:
        return ""
    label = f"<b>{escape(start)}</b> " if start else ""
    about = f' class="{style}"' if style else ""
    return f"<p{about}>{label}{escape(minus(text))}</p>"


def sentence(text: str) -> str:
    """A note as a sentence."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") or not text else ".")
