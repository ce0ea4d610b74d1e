"""Claims and figures of the report that are a line each, which opens."""

from sample_report import DECISIONS, press, visible

from delightful.lab.decisions import shown


def test_a_claim_that_is_reproduced_is_one_line_with_its_value_that_opens(page):
    exact = page.locator('[id="alpha/exact"]')
    assert exact.bounding_box()["height"] < 50
    assert exact.inner_text().split("\n") == ["reproduced", "It is exact.", "0.25"]
    faster = page.locator('[id="alpha/faster"]')
    assert faster.inner_text().split("\n") == ["reproduced", "A < B & all.", "1.5 [1.47, 1.53]"]
    assert not exact.get_by_text("Rule:").is_visible()
    exact.locator("summary").click()
    assert "Rule: error, A − B: above 0" in exact.inner_text()
    assert "delightful claims alpha/exact" in exact.inner_text()


def test_a_claim_that_is_inconclusive_is_one_line_with_the_signs_of_its_readings(page):
    claim = page.locator('[id="beta/two-ways"]')
    assert claim.bounding_box()["height"] < 50
    words = ["inconclusive", "It depends on how it is read.", shown(DECISIONS[5].outcomes[0], 3)]
    assert claim.inner_text().split("\n") == words
    signs = claim.locator(".signs")
    assert signs.get_attribute("aria-label") == "per step: inconclusive; per episode: reproduced"
    drawn = "all => all.map(e => getComputedStyle(e, '::before').content)"
    assert signs.locator("i").evaluate_all(drawn) == ['"?"', '"✓"']
    assert page.locator('[id="alpha/faster"] .signs').count() == 0
    for name in ("alpha/parts", "alpha/far"):  # partly, and not reproduced
        assert page.locator(f'[id="{name}"]').get_by_text("Rule:").is_visible()


def test_a_figure_of_an_appendix_or_shown_above_is_a_line_that_opens(page):
    for name, why in (("alpha/far", "appendix"), ("beta/curves", "shown above")):
        figure = page.locator(f'figure[id="figure-{name}"]')
        assert figure.bounding_box()["height"] < 50
        assert figure.locator("summary .dim").first.inner_text() == why
        figure.locator("summary").first.click()
        assert figure.locator("img").is_visible()
        assert figure.locator("figcaption").is_visible()


def test_the_search_opens_a_claim_whose_line_lacks_the_words_and_a_figure(page):
    two, figure = page.locator('[id="beta/two-ways"]'), page.locator('[id="figure-alpha/far"]')
    page.fill("#search", "per episode caption counts")
    assert visible(page) == ["beta/two-ways", "beta/half-run"]
    assert two.locator(".readings").is_visible()
    page.fill("#search", "depends")  # which its line has
    assert visible(page) == ["beta/two-ways"]
    assert not two.locator(".readings").is_visible()
    page.fill("#search", "figure 20")
    assert figure.locator("img").is_visible()
    page.fill("#search", "")
    assert not figure.locator("img").is_visible()
    two.locator(".line").click()
    page.fill("#search", "depends")  # what someone has opened stays open
    assert two.locator(".readings").is_visible()
    press(page, "inconclusive")
    assert two.is_visible()


def test_a_link_opens_the_line_that_it_leads_to(open_page):
    page = open_page(hash_="#beta/two-ways")
    assert page.locator('[id="beta/two-ways"] .readings').is_visible()
    page = open_page(hash_="#figure-alpha/far")
    assert page.locator('[id="figure-alpha/far"] img').is_visible()
