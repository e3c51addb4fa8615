"""The report: whole in one file, drawn by a real browser, and its step control moves the picks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from policylearn.explain import HtmlReport, Trace, TracePanel, write_report
from policylearn.explain.charts import lines
from policylearn.explain.drawings import shades
from policylearn.explain.report import frames
from tests.errors import raises_naming
from tests.explain.chromium import Browser, browser_in

RING = ((0, 1, 2, 3), (1, 2, 3, 0))
LEARNED = Trace(RING, 4, (2, 0, 3), ((0.1, 0.2, 0.6, 0.1), (0.8, 0.1, 0.0, 0.1), (0.0, 0.5, 0.0, 0.5)))
RANDOM = Trace(RING, 4, (1, 3, 0), None)
NONE = Trace(RING, 4, (), None)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    chart = lines({"a": np.array([[1, 0.2], [2, 0.9]])}, ("steps", "accuracy"), "accuracy")
    report = HtmlReport(
        title="Rings & <marks>",
        introduction=["One </script> paragraph."],
        headings=["method", "accuracy"],
        rows=[["none", "25 %"], ["learned", "100 %"]],
        panels=[
            TracePanel("none", NONE),
            TracePanel("random", RANDOM, "three", ("one </script>", "two", "three")),
            TracePanel("learned", LEARNED, "right"),
        ],
        panels_note="All of them.",
        charts=[("A chart", chart)],
    )
    return write_report(report, folder / "report.html")


@pytest.fixture(scope="module")
def browser(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    with browser_in(tmp_path_factory.mktemp("profile")) as running:
        running.open(page)
        yield running


def rings(browser: Browser, panel: int) -> list[str]:
    """What is written on the nodes of a panel."""
    return browser.run(
        f"Array.from(document.querySelectorAll('.panel')[{panel}].querySelectorAll('.node text'), t => t.textContent)"
    )


def fills(browser: Browser, panel: int) -> list[str]:
    """The colours that the browser draws."""
    return browser.run(
        f"Array.from(document.querySelectorAll('.panel')[{panel}].querySelectorAll('circle'),"
        " c => getComputedStyle(c).fill)"
    )


def rgb(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


def test_pictures_are_drawn(browser: Browser) -> None:
    boxes = browser.run("Array.from(document.querySelectorAll('figure > svg'), s => s.getBoundingClientRect().height)")
    assert len(boxes) == 4
    assert min(boxes) > 50
    assert browser.run("document.querySelectorAll('.panel')[2].querySelectorAll('.node').length") == 4
    assert browser.run("document.title") == "Rings & <marks>"


def test_buttons_and_slider_move_through_the_picks(browser: Browser) -> None:
    browser.run("show(1)")
    assert rings(browser, 2) == ["", "", "1", ""]
    assert fills(browser, 2) == [rgb(colour) for colour in shades(LEARNED.probabilities[0], 0.8)]
    assert browser.run("document.getElementById('back').disabled") is True
    browser.run("document.getElementById('next').click()")
    assert rings(browser, 2) == ["2", "", "1", ""]
    assert rings(browser, 1) == ["", "1", "", "2"]
    assert rings(browser, 0) == [""] * 4
    assert fills(browser, 2) == [rgb(colour) for colour in shades(LEARNED.probabilities[1], 0.8)]
    assert browser.run("document.getElementById('now').textContent") == "pick 2 of 3"
    assert browser.run("document.querySelectorAll('.newest').length") == 2
    browser.run("slider.value = 3; slider.dispatchEvent(new Event('input'))")
    assert rings(browser, 2) == ["2", "", "1", "3"]
    assert "probability 0.500" in browser.run("document.querySelectorAll('.state')[2].textContent")
    assert browser.run("document.getElementById('next').disabled") is True
    browser.run("document.getElementById('back').click()")
    assert rings(browser, 2) == ["2", "", "1", ""]


def test_a_card_counts_the_marks_so_far_and_nothing_sticks_out(page: Path, browser: Browser) -> None:
    browser.run("show(1)")
    caption = "document.querySelectorAll('.panel figcaption')[1].textContent"
    assert browser.run(caption) == "one </script>"
    browser.run("show(3)")
    assert browser.run(caption) == "three"
    for width in (375, 1400):
        browser.resize(width)
        assert browser.overflowing() == []
    assert browser.complaints == []


def test_nothing_is_named_from_elsewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="(?!data:|#)', text) == []
    assert "@import" not in text


def test_nothing_is_loaded_from_elsewhere(browser: Browser) -> None:
    assert browser.run("performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length") == 0


def test_text_cannot_become_markup(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<marks>" not in text
    assert "One &lt;/script&gt; paragraph." in text
    assert text.count("</script>") == 2


def test_frames_hold_the_picks_so_far() -> None:
    shown = frames(LEARNED, 0.8)
    assert [frame["picks"] for frame in shown] == [[2], [2, 0], [2, 0, 3]]
    assert [frame["chance"] for frame in shown] == [0.6, 0.8, 0.5]
    assert frames(NONE, 0.8) == []
    assert [frame["colours"] for frame in frames(RANDOM, 0.8)] == [None] * 3


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises_naming(ValueError, "report.html"):
        write_report(HtmlReport("t", [], [], [], [], "", []), tmp_path / "file" / "report.html")
