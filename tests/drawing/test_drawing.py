"""Drawings show every node, survive hostile names, and say what they leave out."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By

from memkit.drawing.graph import FOLDED, Edge, Graph, GraphNode, NodeKind, decomposition, folded
from memkit.drawing.interface import draw
from memkit.drawing.layout import lay_out

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    '"]; evil -> "x', "</text><script>alert(1)</script>", "a\\", "\\N\\G", "&lt;b&gt;", '"] --> n9["', "%%{init: {}}%%",
    "`**md**`", "1. first", "- item", "\x1b[31mred", "line\nbreak", "\u202egnihtyna", "style x:#fff;", "'; drop", "]]>",
    "",
]  # fmt: skip
TREE = (
    {"id": 0, "parent": None, "task": "deliver book shop", "method": "walk_and_give"},
    {"id": 1, "parent": 0, "task": "go home shop", "operator": "go"},
    {"id": 2, "parent": 0, "task": "hand over", "method": "ask", "learned": True},
    {"id": 3, "parent": 2, "task": "give book", "operator": "give"},
)


@st.composite
def forests(draw_: st.DrawFn) -> Graph:
    """Return forests of up to 60 nodes with any labels."""
    count = draw_(st.integers(1, 60))
    parents = [None if n == 0 else draw_(st.none() | st.integers(0, n - 1)) for n in range(count)]
    labels = [draw_(st.text(max_size=8)) for _ in range(count)]
    rows = [(GraphNode(str(n), labels[n]), None if parents[n] is None else str(parents[n])) for n in range(count)]
    return Graph.of_tree("Forest", rows)


@st.composite
def graphs(draw_: st.DrawFn) -> Graph:
    """Return graphs with cycles, loops and double edges."""
    names = [str(n) for n in range(draw_(st.integers(1, 12)))]
    ends = draw_(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=30))
    return Graph("Any", tuple(GraphNode(name, f"node {name}") for name in names), tuple(Edge(*each) for each in ends))


def texts(svg: str) -> list[str]:
    """Return what is written in a drawing."""
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@given(forests() | graphs())
def test_no_two_boxes_lie_on_each_other(graph: Graph) -> None:
    """Whatever the shape, each node is placed once, and beside the others."""
    boxes = lay_out(graph).boxes

    assert sorted(box.node.id for box in boxes) == sorted(node.id for node in graph.nodes)
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y


@given(forests() | graphs())
def test_everything_lies_inside_of_the_drawing(graph: Graph) -> None:
    """The size of the drawing holds every box, and every line has an edge."""
    layout = lay_out(graph)
    width, height = layout.size

    assert all(box.x >= 0 and box.x + box.width <= width for box in layout.boxes)
    assert all(box.y >= 0 and box.y + box.height <= height for box in layout.boxes)
    assert len(layout.lines) == len(graph.edges)


@given(st.lists(st.text() | st.sampled_from(HOSTILE), min_size=1, max_size=5))
def test_any_text_makes_well_formed_svg_that_says_it_and_nothing_else(labels: list[str]) -> None:
    """A name is text: it opens no element, ends none, and hides no other."""
    graph = Graph(
        labels[0], tuple(GraphNode(str(n), label, note=label) for n, label in enumerate(labels)), (), labels[-1]
    )
    root = ElementTree.fromstring(draw(graph, "svg").text)

    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {"svg", "title", "desc", "text", "g", "rect", "path"}
    assert len(list(root.iter(f"{SVG}rect"))) == len(labels)


def test_a_decomposition_tells_tasks_steps_and_learned_methods_apart() -> None:
    """Each has its own look and its own words, so that colour is not needed to tell them apart."""
    drawing = draw(decomposition(TREE, "Plan: deliver book shop"), "svg")
    root = ElementTree.fromstring(drawing.text)
    grounds = {each.attrib["fill"] for each in root.iter(f"{SVG}rect")}

    assert {"deliver book shop", "by walk_and_give", "1. go home shop", "by ask, learned", "2. give book"} <= set(
        texts(drawing.text)
    )
    assert len(grounds) == 3
    assert root.findtext(f"{SVG}title") == "Plan: deliver book shop"
    assert root.findtext(f"{SVG}desc") == "2 steps from 2 tasks."
    assert root.attrib["role"] == "img"
    assert (drawing.shown, drawing.nodes, drawing.folded) == (4, 4, "")


@pytest.mark.parametrize("form", ["svg", "dot", "mermaid"])
def test_drawings_are_the_same_every_time_and_fetch_nothing(form: str) -> None:
    """A drawing can be committed and read by review; the only address in it names the format."""
    graph = decomposition(TREE, "Plan")
    text = draw(graph, form).text  # type: ignore[arg-type]

    assert text == draw(graph, form).text  # type: ignore[arg-type]
    assert set(re.findall(r"https?://[^\"]+", text)) <= {"http://www.w3.org/2000/svg"}


def chain(length: int, *, flat: bool = False) -> Graph:
    """Return a deep chain, or one node with many children."""
    rows = [(GraphNode(str(n), f"task {n}"), None if n == 0 else "0" if flat else str(n - 1)) for n in range(length)]
    return Graph.of_tree("Long", rows)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("form", ["svg", "dot", "mermaid"])
def test_a_large_tree_is_folded_and_says_so(form: str, flat: bool) -> None:
    """Of 20,000 nodes at most 500 are drawn, and both the drawing and the caller are told how many."""
    drawing = draw(chain(20_000, flat=flat), form)  # type: ignore[arg-type]

    assert 490 <= drawing.shown <= 500
    assert drawing.nodes == 20_000
    assert drawing.folded == f"{drawing.shown:,} of 20,000 nodes are drawn; the others are folded."
    assert f"{20_000 - drawing.shown:,} more" in drawing.text.replace("#44;", ",")


@given(forests(), st.integers(2, 40))
def test_folding_keeps_the_bound_and_counts_what_it_hides(graph: Graph, limit: int) -> None:
    """No node is lost in silence: drawn and hidden ones add up, and what is drawn hangs together."""
    small = folded(graph, limit)
    hidden = [int(node.label.split()[1].replace(",", "")) for node in small.nodes if node.kind == FOLDED]
    kept = [node for node in small.nodes if node.kind != FOLDED]

    assert len(small.nodes) <= max(limit, 1)
    assert len(kept) + sum(hidden) == len(graph.nodes)
    assert small.is_forest


def test_a_mermaid_drawing_stays_within_what_mermaid_draws() -> None:
    """Long labels fold a drawing further, since Mermaid shows nothing at all beyond 50,000 characters."""
    rows = [(GraphNode(str(n), f"{n} " + "<>" * 40), None if n == 0 else str((n - 1) // 3)) for n in range(400)]
    drawing = draw(Graph.of_tree("Wide", rows), "mermaid")

    assert len(drawing.text) <= 50_000
    assert 0 < drawing.shown < 400
    assert drawing.folded


@given(st.text() | st.sampled_from(HOSTILE))
def test_a_label_stays_inside_of_its_quotes(label: str) -> None:
    """In DOT and in Mermaid a name ends no text, starts no line and names no directive."""
    graph = Graph("t", (GraphNode("a", label), GraphNode("b", "other")), (Edge("a", "b", label),))
    dot, mermaid = draw(graph, "dot").text, draw(graph, "mermaid").text

    assert len(dot.splitlines()) == 8
    assert len(mermaid.splitlines()) == 5
    assert len(re.findall(r'(?<!\\)(?:\\\\)*"', dot)) % 2 == 0
    assert mermaid.count('"') in (4, 6)
    assert "%%" not in mermaid and "`" not in mermaid and "<" not in mermaid.replace("<br/>", "")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("label", HOSTILE)
def test_graphviz_reads_the_drawing(label: str) -> None:
    """What is written is what Graphviz understands."""
    text = draw(Graph(label, (GraphNode("a", label), GraphNode("b", label)), (Edge("a", "b", label),)), "dot").text
    done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, timeout=900)

    assert done.returncode == 0, done.stderr


def test_a_browser_shows_hostile_names_as_text(tmp_path: Path) -> None:
    """Opened by itself, the drawing shows all of its labels inside of their boxes, and runs nothing."""
    browser, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver_path):
        pytest.skip("a real browser is not here: install chromium and chromium-driver")
    kinds = {"k": NodeKind("kind", "pill", "amber")}
    nodes = tuple(GraphNode(str(n), label or "empty", "k") for n, label in enumerate(HOSTILE))
    file = tmp_path / "drawing.svg"
    file.write_text(draw(Graph("Hostile", nodes, (), "", kinds), "svg").text, encoding="utf-8")
    options = ChromeOptions()
    options.binary_location = browser
    for switch in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        f"--user-data-dir={tmp_path / 'p'}",
    ):
        options.add_argument(switch)
    driver = Chrome(options=options, service=ChromeService(driver_path))
    try:
        driver.get(file.as_uri())
        groups = driver.find_elements(By.CSS_SELECTOR, "svg > g > g")
        inside = driver.execute_script(
            "return [...document.querySelectorAll('svg > g > g')].every(g => {"
            "const box = g.querySelector('rect').getBBox(), text = g.querySelector('text').getBBox();"
            "return text.x >= box.x && text.x + text.width <= box.x + box.width + 1})"
        )
        assert len(groups) == len(HOSTILE)
        assert inside
        assert driver.find_elements(By.CSS_SELECTOR, "script") == []
    finally:
        driver.quit()
