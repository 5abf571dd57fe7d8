"""The page of a run is one file that a real browser shows as it was meant, and that can do nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_runs import FAMILY, HOSTILE, line, make_run
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By

from memkit.use_cases.evolution import report_evolution

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1000,1400",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Return a browser with a profile of its own, which tells what its console says."""
    if not (BROWSER and DRIVER):
        pytest.skip("a real browser is not here: install chromium and chromium-driver")
    options = ChromeOptions()
    options.binary_location = BROWSER
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    yield driver
    driver.quit()


def test_a_browser_shows_the_charts_and_the_tables_beside_them(browser: Chrome, tmp_path: Path) -> None:
    """Score over time, lineage, archive, failures and the difference are there, each also as text that can be read."""
    make_run(tmp_path / "run")
    browser.get(report_evolution(str(tmp_path / "run")).as_uri())

    assert browser.find_element(By.CSS_SELECTOR, "dd").text == "4.5"
    charts = browser.find_elements(By.CSS_SELECTOR, "svg[role=img]")
    assert len(charts) == 2 and all(chart.is_displayed() and chart.size["width"] > 300 for chart in charts)
    assert len(browser.find_elements(By.CSS_SELECTOR, "polyline.best")) == 1
    captions = [each.get_attribute("textContent") for each in browser.find_elements(By.CSS_SELECTOR, "caption")]
    assert {"Score over time", "Lineage of the best program", "Programs of the archive"} <= set(captions)
    rows = browser.find_elements(By.XPATH, "//caption[.='Lineage of the best program']/../tbody/tr")
    assert [row.find_element(By.CSS_SELECTOR, "th").get_attribute("textContent") for row in rows] == [
        "aaaa0001", "aaaa0003", "aaaa0004", "aaaa0006",
    ]  # fmt: skip
    assert [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".diff .added")] == ["+x = 'aaaa0006'"]
    assert browser.find_element(By.CSS_SELECTOR, "td.shade4").text == "4.5"
    failures = browser.find_elements(By.XPATH, "//caption[contains(., 'do not count')]/../tbody/tr/th")
    assert [each.text for each in failures] == ["time: no answer within 10 s", "<script>alert(1)</script>"]
    wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.execute_script(wide)
    browser.set_window_size(420, 900)
    assert browser.execute_script(wide), "a narrow screen needs no scrolling to the side"
    browser.set_window_size(1000, 1400)


def test_hostile_programs_stay_text(browser: Chrome, tmp_path: Path) -> None:
    """No script runs, nothing is loaded, no element is theirs, and no control character is in the file."""
    make_run(tmp_path / "run", FAMILY, {"aaaa0006": HOSTILE, "aaaa0001": HOSTILE.replace("owned", "before")})
    page = report_evolution(str(tmp_path / "run"), tmp_path / "page.html")
    browser.get(page.as_uri())

    assert browser.title == "Evolution of run"
    for foreign in ("script", "img", "a", "iframe", "object", "form", "link", "i", "b", "body style"):
        assert browser.find_elements(By.CSS_SELECTOR, foreign) == [], foreign
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]] == []
    assert '</pre><script>document.title="owned"' in browser.find_element(By.CSS_SELECTOR, "pre").text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page.read_text("utf-8"))


@pytest.mark.parametrize(
    "judged", [[], [line("aaaa0001", 1, None, reason="raised")], [line("aaaa0001", 1, 3.0)]],
    ids=["nothing judged", "nothing scored", "only the seed"],
)  # fmt: skip
def test_a_run_with_little_to_show_has_a_page(browser: Chrome, tmp_path: Path, judged: list) -> None:
    """It says what there is."""
    make_run(tmp_path / "run", judged)
    browser.get(report_evolution(str(tmp_path / "run")).as_uri())

    text = browser.find_element(By.TAG_NAME, "main").text
    assert "To repeat it" in text
    assert ("Nothing: the seed is the best program." in text) == (bool(judged) and judged[0].score is not None)
