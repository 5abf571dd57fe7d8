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

from tests.shared import made_once
from tests.written.command_pages import command_pages, sections
from tests.written.site import DOORS, build, public_names

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SOUGHT = {
    "use ollama": "models",
    "delete user": "erasure",
    "mem0": "from-mem0",
    "claude code": "mcp from-claude-code",
    "langgraph store": "drop-ins",
    "async python": "library",
    "block dangerous command": "policies",
    "kubernetes": "deployment",
    "merge conflict": "teams",
    "encrypt": "sealing",
    "test agent without key": "testing",
    "upgrade memkit": "faq",
    "gdpr": "erasure",
    "right to be forgotten": "erasure",
    "sarif": "lint",
    "downgrade": "faq",
    "exit codes": "commands",
    "make it forget something": "faq forgetting",
    "use with cursor": "mcp",
    "shared database": "back-ends",
    "block dangerous commands": "policies",
    "undo last change": "faq chat",
    "encrypt memory at rest": "sealing",
    "backup restore new laptop": "interchange faq",
    "gdpr delete customer data": "erasure",
    "why did it recall this": "one-fact retrieval",
    "async fastapi": "library",
    "run local llm offline": "models faq",
    "import chatgpt conversations": "from-chatgpt",
    "continue previous conversation": "sessions chat",
    "token cost": "models",
    "write my own skill": "skills",
    "separate memory per user": "faq",
    "upgrade new version": "faq",
    "uninstall": "faq",
    "docker": "deployment sandbox",
    "change a wrong memory": "faq one-fact page",
    "where are files stored": "faq",
    "stop remembering things about me": "faq",
    "use gpt-5 with my openai key": "models first-hour",
    "how big can it get": "faq",
    "is it multi tenant": "faq",
    "prompt injection": "taint",
    "vector search embeddings": "faq retrieval",
    "add memory to langchain agent": "drop-ins",
    "sync between two computers": "faq teams",
    "schedule cron cleanup": "forgetting",
    "show memory in the browser": "page",
    "rename a conversation": "sessions reference/commands/sessions",
    "require approval before a tool runs": "policies execution",
    "my own database postgres setup": "back-ends",
    "remove secrets passwords from memory": "gate",
    "github action check pull request": "review teams",
    "what does the agent know about me": "faq",
    "audit log who changed what": "reference/commands/audit",
    "generate a langgraph project": "update targets reference/commands/gen",
    "memory is wrong how to correct it": "faq",
    "who wrote this memory": "faq one-fact",
    "turn off memory for one conversation": "sessions faq",
    "does it send my data to the cloud": "faq",
    "mount memory into vscode": "mcp",
    "pass on store to colleague": "trust",
    "command line autocomplete": "commands terminal",
    "why was tool call denied": "policies",
    "share memory between agents": "faq mcp one-day",
    "run on a server for many users": "faq deployment page",
    "old memories expire automatically": "forgetting health reference/commands/memory",
    "compare with mem0": "comparison from-mem0",
    "tests in ci for my policies": "policies",
    "corrupted file recovery": "faq integrity",
}
"""What a stranger wants, in the words that came to mind before any page was opened, and the pages that tell it."""
FIRST = 3


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning of Sphinx fails every test here."""
    pytest.importorskip("sphinx")
    return made_once(tmp_path_factory, "site", build) / "html"


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


SUMMED_UP_ONCE = """
const pages = new Map(), texts = new Map(), {fetch} = window, {htmlToText} = Search;
const kept = (map, key, make) => map.get(key) ?? map.set(key, make()).get(key);
window.fetch = (url) => kept(pages, url, () =>
  fetch(url).then((page) => page.text()).then((text) => ({text: () => text})));
Search.htmlToText = (html, anchor) =>
  kept(kept(texts, html, () => new Map()), anchor, () => htmlToText(html, anchor));
"""
"""Lets the summaries of many searches fetch and read each page once; the page of the search is not loaded anew."""
ASK_AGAIN = """
document.getElementById("search-results").replaceChildren();
Search.performSearch(arguments[0]);
"""
"""What the page does with the words in its address."""


def found(browser, address: str, words: str) -> list[str]:  # noqa: ANN001
    """Return the pages that the site's search lists for some words, the best first."""
    browser.get(f"{address}/search.html?q={quote(words)}")
    return listed(browser)


def listed(browser) -> list[str]:  # noqa: ANN001
    """Return the pages that a search lists once it has ended, the best first."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 120).until(
        lambda page: re.search(r"found|did not match", page.find_element("class name", "search-summary").text)
    )
    links = browser.find_elements("css selector", "#search-results ul.search > li > a")
    pages = [urlsplit(link.get_attribute("href")).path.strip("/").removesuffix(".html") for link in links]
    return list(dict.fromkeys(pages))


def test_strangers_find_what_they_look_for_by_the_search(browser, address: str) -> None:  # noqa: ANN001
    """Each among the first three pages, in a real browser that reaches nothing but the site."""
    found(browser, address, "memory")
    browser.execute_script(SUMMED_UP_ONCE)
    lists = {}
    for words in SOUGHT:
        browser.execute_script(ASK_AGAIN, words)
        lists[words] = [page.removeprefix("docs/") for page in listed(browser)]

    assert {
        words: pages[:6] for words, pages in lists.items() if not set(SOUGHT[words].split()) & set(pages[:FIRST])
    } == {}
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_search_leads_to_the_place_in_the_page(browser, address: str) -> None:  # noqa: ANN001
    """A heading that says what was asked for is where the first link goes, and not the top of a long page."""
    found(browser, address, "how do I uninstall memkit")
    first = browser.find_element("css selector", "#search-results ul.search > li > a")

    assert urlsplit(first.get_attribute("href")).fragment.endswith("or-uninstall")
    assert (
        first.text == "Questions that people ask (FAQ) > How do I upgrade, go back to an older version, or uninstall?"
    )


def test_a_page_is_listed_once(browser, address: str) -> None:  # noqa: ANN001
    """Its title and its text may both fit; only the names that code uses stand for themselves."""
    found(browser, address, "policies")
    links = browser.find_elements("css selector", "#search-results ul.search > li:not(.kind-object) > a")
    pages = [urlsplit(link.get_attribute("href")).path for link in links]

    assert len(pages) == len(set(pages)) > 10


def test_words_that_are_nowhere_find_nothing(browser, address: str) -> None:  # noqa: ANN001
    """So a page among the first three is an answer, and not what everything finds."""
    assert found(browser, address, "xylophonist zucchetto") == []


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
