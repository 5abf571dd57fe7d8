"""The page of a review is one file that a real browser shows as it was meant, and that can do nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile import TEXTS, write
from repositories import POLICY, SKILL, commit, put
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By

from memkit.cli.main import run

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


def page_of(root: Path, file: Path) -> Path:
    """Write the page of what is in no commit yet."""
    run(["review", "--store", str(root), "--html", str(file)])
    return file


def scheme(browser: Chrome, name: str) -> None:
    """Make the browser's user prefer a light or a dark page."""
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def contrast(browser: Chrome, element: str, ground: str) -> float:
    """Return the contrast of the text of one element to the ground of another, as WCAG 2 measures it."""
    colours = browser.execute_script(
        "return [[arguments[0], 'color'], [arguments[1], 'backgroundColor']].map(([place, name]) => "
        "getComputedStyle(document.querySelector(place))[name].match(/[\\d.]+/g).slice(0, 3).map(Number))",
        element, ground,
    )  # fmt: skip

    def luminance(colour: list[float]) -> float:
        parts = [value / 255 for value in colour]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted(map(luminance, colours))
    return (light + 0.05) / (dark + 0.05)


def test_a_browser_shows_what_to_look_at_first(browser: Chrome, reviewed: Path, tmp_path: Path) -> None:
    """The level, the numbers, the call and the change of meaning are there to read, in light and in dark."""
    put(reviewed, "policies/stop.yaml", POLICY.replace("hard", "soft"))
    browser.get(page_of(reviewed, tmp_path / "page.html").as_uri())

    assert browser.find_element(By.CSS_SELECTOR, ".verdict.stop strong").text == "Stop and answer"
    assert [each.text for each in browser.find_elements(By.CSS_SELECTOR, "dd")][1] == "1"
    assert "memkit policy check --tool" in browser.find_element(By.CSS_SELECTOR, "td code").text
    flagged = browser.find_element(By.CSS_SELECTOR, "li.flag")
    assert flagged.is_displayed() and "enforcement hard → soft" in flagged.text
    grounds = {}
    for name in ("light", "dark"):
        scheme(browser, name)
        grounds[name] = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert contrast(browser, "body", "body") > 7
        assert contrast(browser, ".verdict strong", ".verdict") > 4.5
        assert contrast(browser, ".flag b", "details") > 4.5
        assert contrast(browser, "dt", "dl div") > 4.5
    assert grounds["light"] != grounds["dark"]
    wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.execute_script(wide)
    browser.set_window_size(420, 900)
    assert browser.execute_script(wide), "a narrow screen needs no scrolling to the side"
    browser.set_window_size(1000, 1400)


def test_hostile_texts_stay_texts_on_the_page(browser: Chrome, reviewed: Path, tmp_path: Path) -> None:
    """No script runs, nothing is loaded, no element is theirs, and what they say can be read."""
    write(reviewed)
    browser.get(page_of(reviewed, tmp_path / "page.html").as_uri())

    assert "owned" not in browser.title
    for foreign in ("script", "img", "a", "iframe", "object", "form", "link", "svg", "u", "body style"):
        assert browser.find_elements(By.CSS_SELECTOR, foreign) == [], foreign
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]] == []
    shown = [each.get_attribute("textContent") for each in browser.find_elements(By.CSS_SELECTOR, "q")]
    assert TEXTS[0] in shown and TEXTS[1] in shown
    assert browser.find_element(By.CSS_SELECTOR, "footer").is_displayed()
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", (tmp_path / "page.html").read_text("utf-8"))


def test_the_policy_of_the_page_lets_nothing_in(browser: Chrome, reviewed: Path, tmp_path: Path) -> None:
    """Even where somebody adds a script or a style to the file, the browser runs and applies neither."""
    put(reviewed, "readme.txt", "x")
    page = page_of(reviewed, tmp_path / "page.html")
    added = (
        "<script>document.title='owned'</script><style>main{display:none}</style><img src='data:image/gif;base64,R0lG'>"
    )
    page.write_text(page.read_text("utf-8").replace("</main>", f"{added}</main>"), "utf-8")
    browser.get(page.as_uri())

    assert browser.title != "owned"
    assert browser.find_element(By.CSS_SELECTOR, "main").is_displayed()
    assert len([entry for entry in browser.get_log("browser") if "Content Security Policy" in entry["message"]]) >= 3


def test_ten_thousand_changes_make_a_page_of_a_size_to_read(reviewed: Path, tmp_path: Path) -> None:
    """What is left out is counted."""
    at = "2026-11-21T09:00:00.000000Z"
    line = '{{"created_at":"{}","id":"01KAJ3Q{:019d}","text":"fact {}","user_id":"ada"}}\n'
    put(reviewed, "archive/2026-11/w.jsonl", "".join(line.format(at, number, number) for number in range(10_000)))
    text = page_of(reviewed, tmp_path / "page.html").read_text("utf-8")

    assert len(text) < 200_000
    assert "and 9,800 more: 9,800 added" in text


def test_the_same_change_gives_the_same_page(reviewed: Path, tmp_path: Path) -> None:
    """No time and no path of this machine stands in it."""
    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour", "Spill"))
    commit(reviewed)
    pages = [tmp_path / name for name in ("one.html", "two.html")]
    for page in pages:
        run(["review", "HEAD~1..HEAD", "--store", str(reviewed), "--html", str(page)])

    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert str(reviewed) not in pages[0].read_text("utf-8")
