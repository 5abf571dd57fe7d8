"""The site: built without a warning, whole without a network, and searched as a stranger searches it."""

from __future__ import annotations

import functools
import re
import shutil
import threading
from collections.abc import Iterator
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

from tests.written.command_pages import command_pages, sections
from tests.written.site import DOORS, build, public_names

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SOUGHT = {
    "use ollama": "docs/models",
    "delete user": "docs/erasure",
    "mem0": "docs/from-mem0",
    "claude code": "docs/mcp",
    "langgraph store": "docs/drop-ins",
    "async python": "docs/library",
    "block dangerous command": "docs/policies",
    "kubernetes": "docs/deployment",
    "merge conflict": "docs/teams",
    "encrypt": "docs/sealing",
    "test agent without key": "docs/testing",
    "upgrade memkit": "docs/faq",
    "gdpr": "docs/erasure",
    "right to be forgotten": "docs/erasure",
    "sarif": "docs/lint",
    "downgrade": "docs/faq",
    "exit codes": "docs/commands",
}
"""What a stranger wants, in the words that came to mind before any page was opened, and the page that tells it."""
FIRST = 5


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning of Sphinx fails every test here."""
    pytest.importorskip("sphinx")
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def address(html: Path) -> Iterator[str]:
    """Serve the site as any host of files does."""
    handler = functools.partial(Silent, directory=str(html))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):  # noqa: ANN201 - the driver's own type
    """Open a browser that reaches no other machine."""
    if not (BROWSER and DRIVER):
        pytest.skip("a real browser is not here: install chromium and chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = BROWSER
    nowhere = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
    for switch in (*SWITCHES, nowhere, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    yield driver
    driver.quit()


def found(browser, address: str, words: str) -> list[str]:  # noqa: ANN001
    """Return the pages that the site's search lists for some words, the best first."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{address}/search.html?q={quote(words)}")
    WebDriverWait(browser, 120).until(
        lambda page: re.search(r"found|did not match", page.find_element("id", "search-results").text)
    )
    links = browser.find_elements("css selector", "#search-results ul.search > li > a")
    pages = [urlsplit(link.get_attribute("href")).path.strip("/").removesuffix(".html") for link in links]
    return list(dict.fromkeys(pages))


def test_strangers_find_what_they_look_for_by_the_search(browser, address: str) -> None:  # noqa: ANN001
    """Each among the first five pages, in a real browser that reaches nothing but the site."""
    lists = {words: found(browser, address, words)[:FIRST] for words in SOUGHT}

    assert {words: pages for words, pages in lists.items() if SOUGHT[words] not in pages} == {}
    assert len(SOUGHT) >= 12
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_words_that_are_nowhere_find_nothing(browser, address: str) -> None:  # noqa: ANN001
    """So a page among the first five is an answer, and not what everything finds."""
    assert found(browser, address, "xylophonist quokka") == []


def test_no_page_asks_another_machine(html: Path) -> None:
    """Scripts, styles, fonts and pictures lie in the site: it is read without a network."""
    asked = re.compile(
        r'<(?:script|img|iframe|source)[^>]* src="((?:https?:)?//[^"]+)"|<link[^>]* href="(https?://[^"]+)"'
    )

    assert {
        page.name: found for page in html.rglob("*.html") if (found := asked.findall(page.read_text("utf-8")))
    } == {}


def test_every_link_leads_to_a_page_and_a_place_in_it(html: Path) -> None:
    """Of every page, also those that the build wrote; what is elsewhere on the web is not asked."""
    pages = {page: page.read_text(encoding="utf-8") for page in html.rglob("*.html")}
    places = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    lost = []
    for page, text in pages.items():
        for target in set(re.findall(r'<a[^>]* href="([^"]*)"', text)):
            path, _, place = unescape(target).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            at = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
            if not at.is_file() or (place and at in places and unquote(place) not in places[at]):
                lost.append(f"{page.relative_to(html)}: {target}")

    assert len(pages) > 200
    assert lost == []


def test_every_command_and_every_public_name_is_in_the_reference(html: Path) -> None:
    """The pages are made from click and from docstrings, and Sphinx left none of them out."""
    for page in command_pages():
        told = (html / "reference" / "commands" / f"{page.name}.html").read_text(encoding="utf-8")
        assert f"memkit {page.name}" in told
    for door in DOORS:
        told = (html / "reference" / "python" / f"{door}.html").read_text(encoding="utf-8")
        missing = [name for _, name in public_names(door) if f'id="{door}.{name}"' not in told]
        elsewhere = [name for name in missing if f">{name}</span></code> is that of" not in told]
        assert elsewhere == [], door


def test_a_help_page_falls_into_its_sections() -> None:
    """What stands between usage and the first heading says what the command does; any later heading keeps its text."""
    told = sections(
        "Usage: memkit x [OPTIONS]\n\n  Do it.\n\n  Well.\n\nOptions:\n  -h  Help.\n\nExamples:\n  memkit x\n"
    )

    assert told[""].split() == ["Do", "it.", "Well."]
    assert told["Examples"].strip() == "memkit x" and "-h" in told["Options"]
