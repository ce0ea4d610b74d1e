"""The values behind a figure's picture: what they are, and where they are in it."""

import io
import json

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from sample_report import DESKTOP, PHONE, unfold

from delightful.lab import style
from delightful.lab.cells import Plan
from delightful.lab.drawing import draw
from delightful.lab.experiment import Drawing, Experiment, Figure
from delightful.lab.hovering import LEVEL, MOST, WHOLE, series
from delightful.lab.plotting import line, percent
from delightful.lab.report import write_report
from delightful.lab.store import Store


@pytest.fixture
def panels():
    """Two panels, and what they show once they are drawn."""
    with style.context():
        figure, axes = style.panels(2)
        yield axes, lambda: (_drawn(figure), series(figure))
        plt.close(figure)


def _drawn(figure) -> np.ndarray:
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=200)
    png.seek(0)
    return plt.imread(png)


def at(picture: np.ndarray, point) -> np.ndarray:
    """The colour of the picture where a point is said to be."""
    height, width = picture.shape[:2]
    return picture[round(point[1] / WHOLE * height), round(point[0] / WHOLE * width), :3]


def test_a_line_has_its_values_with_their_band_where_the_picture_has_them(panels):
    (left, right), shown = panels
    numbers = pl.DataFrame({"step": [1, 10, 100], "mean": [0.5, 0.25, 0.1], "se": [0.1, 0.05, 0.0]})
    line(left, numbers, "step", colour="#d62728", label="DG", marker="s", ms=8)
    left.set(xscale="log", xlabel="step", title="(a)")
    percent(left)
    right.plot([1, 2], [3.0, 3.5], "s-", color="#d62728", ms=8)  # named as in the other panel
    right.set(xlabel="size", ylabel="return")
    picture, found = shown()
    assert [one.name for one in found] == ["DG, (a)", "DG"]
    assert found[0].labels == ("step", "return", "band")  # the name of its row
    assert [point[2:] for point in found[0].points] == [
        ("1", "50%", "40% to 60%"),
        ("10", "25%", "20% to 30%"),
        ("100", "10%", ""),
    ]
    assert [point[2:] for point in found[1].points] == [("1", "3"), ("2", "3.5")]
    for point in (*found[0].points, *found[1].points):
        assert at(picture, point) == pytest.approx(to_rgb("#d62728"), abs=0.02)


def test_bars_error_bars_levels_and_maps_have_values(panels):
    (left, right), shown = panels
    left.bar([-0.2, 0.8], [2.0, 3.0], 0.4, color="#1f77b4", label="PG")
    left.bar([0.2, 1.2], [4.0, 1.0], 0.4, color="#d62728", label="DG")
    left.set_xticks([0, 1], labels=["one\ntask", "other"])
    left.axhline(2.5, label="best")
    left.axhline(0, color="grey")  # without a name: it is no value
    right.imshow([[0.25, np.nan], [0.5, 0.75]], origin="lower", aspect="auto")
    right.set(title="map", xlabel="α", ylabel="β")
    right.set_yticks([0, 1], labels=["low", "high"])
    _, found = shown()
    by_name = {one.name: [point[2:] for point in one.points] for one in found}
    assert by_name == {
        "best": [("", "2.5")] * LEVEL,
        "PG": [("one task", "2"), ("other", "3")],
        "DG": [("one task", "4"), ("other", "1")],
        "map": [("0", "low", "0.25"), ("0", "high", "0.5"), ("1", "high", "0.75")],
    }
    assert found[-1].labels == ("α", "β", "value")


def test_error_bars_are_intervals_and_their_caps_are_no_values(panels):
    (left, _), shown = panels
    left.errorbar([1, 2], [5.0, 6.0], yerr=[0.5, 1.0], capsize=3, fmt="o-", label="DG")
    (found,) = shown()[1]
    assert found.name == "DG"
    assert [point[2:] for point in found.points] == [("1", "5", "4.5 to 5.5"), ("2", "6", "5 to 7")]


def test_long_lines_are_thinned_evenly_and_what_is_out_of_view_is_left_out(panels):
    (left, right), shown = panels
    left.plot(np.arange(1, 100_001), np.ones(100_000), label="long")
    left.set_xscale("log")
    right.plot([0, 1, 2, 3], [1, np.nan, 1e9, 1], label="cut")
    right.set_ylim(0, 2)
    long, cut = shown()[1]
    assert len(long.points) <= MOST // 2
    assert max(np.diff([point[0] for point in long.points][MOST // 8 :])) < WHOLE / 50
    assert [long.points[0][2], long.points[-1][2]] == ["1", "100,000"]
    assert [point[2] for point in cut.points] == ["0", "3"]


def test_a_figure_without_values_has_none(panels):
    assert panels[1]()[1] == []


# In the browser


def _plot() -> Drawing:
    numbers = pl.DataFrame({"step": [0, 50, 100], "mean": [3.0, 2.0, 1.0], "se": [0.5, 0.25, 0.1]})
    figure, axes = style.panels(2)
    line(axes[0], numbers, "step", colour="#d62728", label="DG </script>")
    axes[0].set(xlabel="step", ylabel="error")
    line(axes[1], numbers, "step", colour="#1f77b4", label="PG")
    axes[1].set(xlabel="step")
    return Drawing(figure, numbers)


@pytest.fixture(scope="module")
def with_figure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hover")
    figure = Figure("alpha/curves", "Figure 1", "Curves", "Caption.", _plot)
    drawn = draw(figure, Store(folder / "store"), Plan(), folder / "figures")
    experiment = Experiment("alpha", "Alpha", "Section 1", figures=[figure])
    return write_report(folder, [experiment], [], [drawn]), drawn


def _place(page, point, nth=0):
    """Where a point of the figure is in the window."""
    image = page.locator("img[data-values]").nth(nth)
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    return box["x"] + point[0] / WHOLE * box["width"], box["y"] + point[1] / WHOLE * box["height"]


EXPECTED = ["DG </script>", "step: 50", "error: 2", "band: 1.75 to 2.25"]


@pytest.mark.parametrize("nth", [0, 1])  # among what was found, and in its section
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pointing_at_a_point_shows_its_values(open_page, with_figure, scheme, nth):
    path, drawn = with_figure
    page, tip = open_page(path=path, color_scheme=scheme), "#tip"
    unfold(page)
    point = drawn.values[0].points[1]
    assert page.locator(tip).is_hidden()
    x, y = _place(page, point, nth)
    page.mouse.move(x + 6, y - 5)
    assert page.locator(tip).inner_text().split("\n") == EXPECTED
    spot = page.locator("#spot").bounding_box()
    assert spot["x"] + spot["width"] / 2 == pytest.approx(x, abs=1)
    assert spot["y"] + spot["height"] / 2 == pytest.approx(y, abs=1)
    page.mouse.move(x + 6, y + 60)
    assert page.locator(tip).is_hidden()  # nothing is near
    page.mouse.move(x, y)
    page.keyboard.press("Escape")
    assert page.locator(tip).is_hidden()


def test_on_a_phone_a_tap_shows_them_and_a_tap_elsewhere_hides_them(open_page, with_figure):
    path, drawn = with_figure
    page = open_page(path=path, width=PHONE, has_touch=True)
    unfold(page)
    for nth in (1, 0):  # the second tap takes the focus from the first figure
        page.touchscreen.tap(*_place(page, drawn.values[0].points[1], nth))
        page.wait_for_timeout(50)
        assert page.locator("#tip").inner_text().split("\n") == EXPECTED
    box = page.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    page.touchscreen.tap(5, 400)
    assert page.locator("#tip").is_hidden()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_arrow_keys_go_through_all_values_and_keep_them_in_view(open_page, with_figure, width):
    path, drawn = with_figure
    page = open_page(path=path, width=width)
    page.locator(".wide").first.focus()
    said = []
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        said.append(page.locator("#tip").inner_text().split("\n")[1])
        page.wait_for_timeout(50)  # for the scrolling
        box = page.locator("#spot").bounding_box()
        assert 0 <= box["x"] <= width
    assert said == ["step: 0", "step: 50", "step: 100"] * 2
    page.keyboard.press("ArrowLeft")
    assert "step: 50" in page.locator("#tip").inner_text()
    assert drawn.values[1].name == "PG"


def test_the_values_are_on_the_page_once(with_figure):
    path, drawn = with_figure
    text = path.read_text()
    assert text.count('id="values-alpha/curves"') == 1
    inside = text.split('id="values-alpha/curves">')[1].split("</script>")[0]
    assert json.loads(inside) == json.loads(json.dumps([one.row() for one in drawn.values]))
