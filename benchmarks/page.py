"""Time the page over a large memory against the same search in process, measure its size, let fifty people browse while
a chat writes, and time a turn whose spans are sent to a collector against one without.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from corpus import USER, write_store
from table import print_rows

from memkit.runtime.memory.record.record import Draft
from memkit.serving.page.templates import ASSETS, asset
from memkit.use_cases.store import make_store
from memkit.workspace import Workspace, open_workspace

ROOMS = ("/", "/memory", "/waiting", "/policies", "/skills", "/plans", "/plans/errands", "/people", "/settings")
TURN = """
import gc, json, sys, time
from dataclasses import replace
from pathlib import Path
if sys.argv[2]:
    from memkit.telemetry import start
    end = start()
from chat import AtOnce
from memkit.agent import Setting
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace
took = []
gc.set_threshold(100_000)  # as commands have it
with open_workspace(Path(sys.argv[1])) as workspace:
    workspace.archive.set_consent("ada", True, workspace.person("ada"))
    agent = open_chat(workspace, Setting(user="ada"), adapt=lambda parts: replace(parts, model=AtOnce()))
    for number in range(110):
        began = time.thread_time()
        agent.step(f"what is told of number {number}?")
        took.append(time.thread_time() - began)
print(json.dumps(took[10:]))
"""


@contextmanager
def page_server(store: Path) -> Iterator[tuple[str, int, str]]:
    """Start a server and yield host, port and the cookie of a visit."""
    words = [sys.executable, "-m", "memkit", "serve", "--http", "127.0.0.1:0", "--user", USER, "--store", str(store)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            link = next(line for line in server.stderr if line.startswith("page ")).split()[1]
            place = urlsplit(link)
            connection = HTTPConnection(place.hostname or "", place.port or 0)
            form = urlencode({"key": place.fragment.removeprefix("key="), "back": "/"})
            connection.request("POST", "/enter", form, {"Content-Type": "application/x-www-form-urlencoded"})
            cookie = (connection.getresponse().getheader("Set-Cookie") or "").split(";")[0]
            yield place.hostname or "", place.port or 0, cookie
        finally:
            server.terminate()


def looked(connection: HTTPConnection, cookie: str, path: str) -> tuple[float, float, int, bytes]:
    """Return the seconds to the first and to the last byte, the status, and the page."""
    began = time.perf_counter()
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    first = answer.read(1)
    to_first = time.perf_counter() - began
    body = first + answer.read()
    return to_first, time.perf_counter() - began, answer.status, body


def timed(store: Path, records: int, searches: int) -> list[dict[str, Any]]:
    """Return the rows of Memory over a store of some size."""
    from corpus import Vocabulary

    vocabulary = Vocabulary()
    queries = [vocabulary.natural_query() for _ in range(searches)]
    rows, weights = [], {}
    with open_workspace(store) as workspace, page_server(store) as (host, port, cookie):
        archive = workspace.archive
        archive.leaves_traces = False
        connection = HTTPConnection(host, port)
        firsts, wholes, inside = [], [], []
        looked(connection, cookie, "/memory?q=warm")
        for query in queries:
            began = time.perf_counter()
            archive.search(query, user_id=USER, k=50)
            inside.append(time.perf_counter() - began)
            first, whole, status, _ = looked(connection, cookie, f"/memory?q={quote(query)}")
            assert status == 200
            firsts.append(first)
            wholes.append(whole)
        lists = [looked(connection, cookie, "/memory")[1] for _ in range(searches)]
        for path in (*ROOMS, "/memory?q=" + quote(queries[0])):
            _, _, _, body = looked(connection, cookie, path)
            weights[path] = len(body)
            if path == "/memory":
                found = re.search(rb'href="(/memory/[^"?]+)"', body)
                assert found
                weights["a record"] = len(looked(connection, cookie, found[1].decode())[3])
        at = f"{records:,} records"
        peer = statistics.median(inside) * 1e3
        rows.append(row(f"a search on the page, {at}, first byte, ms", statistics.median(firsts) * 1e3, peer))
        rows.append(row(f"a search on the page, {at}, whole, ms", statistics.median(wholes) * 1e3, peer))
        rows.append(row(f"the list of Memory, {at}, whole, ms", statistics.median(lists) * 1e3, peer))
        heaviest = max(weights, key=lambda path: weights[path])
        assets = sum(len(asset(name)) for name in ASSETS)
        rows.append(
            row(f"heaviest page ({heaviest[:8]}) with what it loads, kB", (weights[heaviest] + assets) / 1e3, 500)
        )
        rows.append(row(f"50 people browse while a chat writes, {at}, errors", crowd(host, port, cookie, store), 0))
    return rows


def crowd(host: str, port: int, cookie: str, store: Path, people: int = 50, pages: int = 20) -> int:
    """Return how many requests failed while another process wrote."""
    failed: list[str] = []

    def browse(number: int) -> None:
        connection = HTTPConnection(host, port, timeout=120)
        for step in range(pages):
            path = (*ROOMS, f"/memory?q=number+{step}")[(number + step) % (len(ROOMS) + 1)]
            try:
                status = looked(connection, cookie, path)[2]
            except OSError as error:
                failed.append(f"{path}: {error}")
                return
            if status != 200:
                failed.append(f"{path}: {status}")

    threads = [threading.Thread(target=browse, args=(number,)) for number in range(people)]
    for thread in threads:
        thread.start()
    command = [sys.executable, "-m", "memkit"]
    subprocess.run([*command, "consent", "grant", "--user", USER, "--store", str(store)], check=True)
    while any(thread.is_alive() for thread in threads):
        words = [*command, "chat", "-p", f"My number is called {time.time_ns()}", "--user", USER, "--store", str(store)]
        subprocess.run(words, check=True, capture_output=True)
    for thread in threads:
        thread.join()
    for line in failed[:3]:
        print(line, file=sys.stderr)
    return len(failed)


def moved(store: Path, things: int = 2000) -> Iterator[dict[str, Any]]:
    """Yield the rows of an animated picture of ``things`` in a real browser, while it is laid out; none without one."""
    import shutil

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        return
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    with Workspace(store) as workspace, workspace.archive._change() as change:
        for number in range(things):
            name, place = f"Kim{number:04d} Ash", f"Org{number // 20:03d}"
            change.offer(Draft(f"{name} works for {place}"), workspace.person(USER), consented=True)
    options = ChromeOptions()
    options.binary_location = browser
    for switch in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(switch)
    with page_server(store) as (host, port, cookie), Chrome(options=options, service=ChromeService(driver)) as window:
        window.get(f"http://{host}:{port}/healthz")
        window.add_cookie(dict(zip(("name", "value"), cookie.split("=", 1), strict=True)))
        window.get(f"http://{host}:{port}/relations")
        canvas = WebDriverWait(window, 120).until(lambda seen: seen.find_element(By.ID, "moving"))
        WebDriverWait(window, 300).until(lambda seen: int(canvas.get_attribute("data-step") or 0) >= 240)
        told = json.loads(canvas.get_attribute("data-frames") or "[]")
        table = HTTPConnection(host, port)
        drawn = json.loads(looked(table, cookie, "/relations/picture")[3])
        at = f"{len(drawn['nodes']):,} things and {len(drawn['ties']):,} ties"
        yield row(f"a frame of a picture of {at}, median, ms", statistics.median(told), 100)
        yield row(f"a frame of a picture of {at}, slowest of {len(told)}, ms", max(told), 100)


class Collector(BaseHTTPRequestHandler):
    """Receives what it is sent."""

    def do_POST(self) -> None:
        """Read it and answer with success."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def told(store: Path, rounds: int) -> dict[str, Any]:
    """Return the row of a turn reported to a collector against one that is not, each in a separate process."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = str(Path(__file__).parent)
        path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        took: dict[str, list[float]] = {"": [], "on": []}
        for _ in range(rounds):
            for which in took:
                more = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"} if which else {}
                words = [sys.executable, "-c", TURN, str(store), which]
                environment = {**os.environ, "PYTHONPATH": path, **more}
                done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
                took[which] += json.loads(done.stdout)
        server.shutdown()
    # The fastest tenth of each: the difference is a twentieth, and load moves medians by more.
    ours, peer = (statistics.quantiles(took[which], n=10)[0] * 1e3 for which in ("on", ""))
    return row(
        "a turn without its model that tells a collector against one that does not, its thread's processor time, ms",
        ours,
        peer,
    )


def row(case: str, ours: float, peer: float) -> dict[str, Any]:
    """Return one row."""
    ratio = round(ours / peer, 2) if peer else None
    return {"case": case, "ours": round(ours, 2), "peer": round(peer, 2), "ratio": ratio}


def main() -> None:
    """Print the rows as a table, or with --json as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "store"
        make_store(store)
        write_store(store, options.records)
        rows = [*timed(store, options.records, options.searches)]
        small = Path(scratch) / "small"
        make_store(small)
        write_store(small, 1000)
        rows.append(told(small, options.rounds))
        pictured = Path(scratch) / "pictured"
        make_store(pictured)
        rows += moved(pictured)
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
