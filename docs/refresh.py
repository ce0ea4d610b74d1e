"""Put docs/results/claims.md into README.md, between its two markers."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
START, END = "<!-- claims: start -->\n", "<!-- claims: end -->"

readme = (ROOT / "README.md").read_text("utf-8")
before, _, rest = readme.partition(START)
_, _, after = rest.partition(END)
table = (ROOT / "docs" / "results" / "claims.md").read_text("utf-8")
(ROOT / "README.md").write_text(f"{before}{START}{table}{END}{after}", "utf-8")
