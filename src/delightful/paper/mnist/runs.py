"""Which of MNIST's runs a line is drawn from."""

import polars as pl

from delightful.lab import drawing


def main_runs(table: pl.DataFrame) -> pl.DataFrame:
    """The runs that differ from the first config in their method only, and supervised CE.

    Under --method, what a sweep asks for beside these, such as the PG oracle, has the same method.
    """
    first = table.row(0, named=True)
    same = [pl.col(name) == first[name] for name in ("samples", "baseline", "entropy")]
    supervised = (pl.col("method") == "ce") & (pl.col("samples") == 0)
    if table.filter(supervised).is_empty():
        return table.filter(*same)
    alike = pl.all_horizontal(*same, pl.col("method") != "ce")
    return table.filter(alike | supervised)


def by_option(table: pl.DataFrame, name: str, option: str) -> pl.DataFrame:
    """The last records of the method `name` by its `option`, without an entropy bonus."""
    return drawing.by_option(table.filter(pl.col("entropy") == 0), name, option)
