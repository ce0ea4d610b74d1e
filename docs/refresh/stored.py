"""Where the results are, and how a number with its interval is written."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "docs" / "results"


def interval(row: dict, sign: str = "") -> str:
    """Such as 0.512 [0.431, 0.593]."""
    digits = ".3f" if abs(row["high"] - row["low"]) < 1 else ".0f"
    mean, low, high = (f"{row[name]:{sign}{digits}}" for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]".replace("-", "−")
