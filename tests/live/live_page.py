#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Use the report's page in a real browser, as a person would.

FORKFLAME    the program: a run is recorded to have a page
PAGE         a page that exists already, instead
PAGE_MAKER   the program make_page of the unit tests: writes pages of histories
             that are made up; without it pools, comparisons and the speed of
             large pages are not looked at
SCREENSHOTS  folder to keep pictures of what was seen in; without it they are
             taken and thrown away

Exits 77 when the machine has no Chromium.
"""

import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402

# Two children work while their parent waits; one function has a name that
# would be an element if it were ever taken for markup.
PROGRAM = """
import os, time

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

def first_child():
    burn(0.7)

def second_child():
    code = compile("burn(0.7)", "</script><b>&.py", "exec")
    names = [name for name in ("co_name", "co_qualname") if hasattr(code, name)]
    odd = dict.fromkeys(names, "<img src=x onerror=alert(1)>")
    exec(code.replace(**odd), globals())

def main():
    for work in (first_child, second_child):
        if os.fork() == 0:
            work()
            os._exit(0)
    os.wait()
    os.wait()

main()
"""

LARGE_MS = 10000  # far above what it takes (< 1 s): test machines are busy
FRAME_MS = 400  # likewise: far above the 20 ms that it is


def check(true, what):
    if not true:
        raise chromium.Failed(what)
    print("ok:", what, flush=True)


class Page:
    """The page's own account of itself; see expose() in page.js."""

    def __init__(self, browser, url, pictures):
        self.browser = browser
        self.url = url
        self.pictures = pictures

    def open(self, fragment=""):
        # By way of an empty page: a new fragment alone would load nothing.
        self.browser.open("about:blank")
        self.browser.open(self.url + fragment)
        self.browser.wait("!!window.forkflame", "the page is ready")

    def state(self):
        self.browser.wait("!forkflame.state().gliding", "the zoom has ended")
        return self.browser.evaluate("forkflame.state()")

    def blocks(self):
        self.browser.wait("!forkflame.state().gliding", "the zoom has ended")
        return self.browser.evaluate("forkflame.blocks()")

    def lanes(self):
        return self.browser.evaluate("forkflame.lanes()")

    def click(self, block, modifier=None):
        self.browser.click(block["x"] + block["width"] / 2,
                           block["y"] + block["height"] / 2, modifier)

    def choose(self, select, value):
        """Set a <select>, as a person's choice does."""
        self.browser.evaluate(
            f"(() => {{ const s = document.getElementById('{select}');"
            f"s.value = '{value}';"
            "s.dispatchEvent(new Event('change', { bubbles: true })); })()")

    def text(self, name):
        return self.browser.evaluate(
            f"document.getElementById('{name}').textContent")

    def picture(self, name):
        self.browser.evaluate("new Promise((done) => requestAnimationFrame("
                              "() => requestAnimationFrame(done)))")
        self.browser.screenshot(
            os.path.join(self.pictures, f"page-{name}.png"))


def widest_frame(blocks):
    """A block of a frame that does not fill the width; else any frame."""
    frames = [b for b in blocks if b["depth"] >= 2 and b["place"]]
    narrow = [b for b in frames if b["width"] < 0.9 * blocks[0]["width"]]
    return max(narrow or frames, key=lambda b: b["width"])


def check_opening(page):
    state, blocks = page.state(), page.blocks()
    check(state["total"] > 0 and len(blocks) > 2, "a graph is drawn")
    check(blocks[0]["value"] == state["total"],
          "the first block is the total")
    for block in blocks:
        if block["value"] < 0 or block["self"] > block["value"] + 1e-6:
            raise chromium.Failed(f"weights do not add up: {block}")
    check(page.lanes(), "and lanes of processes")


def check_zoom(page):
    block = widest_frame(page.blocks())
    page.click(block)
    state = page.state()
    check(state["zoomed"] == block["name"] and
          state["depth"] == block["depth"], "a click zooms")
    # A smaller graph may need no scroll bar: the width is that of now.
    all_width = page.blocks()[0]["width"]
    now = [b for b in page.blocks() if b["depth"] == block["depth"]]
    check(len(now) == 1 and now[0]["width"] == all_width,
          "what is zoomed fills the width")
    details = page.text("details")
    check(block["name"] in details and "%" in details,
          "its name and share are told in words")
    page.picture("zoomed")
    page.browser.key("Backspace")
    check(page.state()["depth"] == block["depth"] - 1,
          "Backspace zooms out by one")
    page.browser.key("Escape")
    check(page.state()["depth"] == 0, "Escape shows everything")
    page.browser.evaluate("history.back()")
    page.browser.wait(f"forkflame.state().depth === {block['depth'] - 1}",
                      "the browser's way back goes back")
    page.browser.evaluate("history.forward()")
    page.browser.wait("forkflame.state().depth === 0", "and forward again")
    page.browser.evaluate("document.getElementById('graph').focus()")
    page.browser.key("ArrowDown")
    page.browser.key("ArrowDown")
    page.browser.key("Enter")
    check(page.state()["depth"] == 2, "arrows and Enter zoom as well")
    page.browser.click_on("#reset")
    check(page.state()["depth"] == 0, "so does the button, back to all")


def check_tooltip(page):
    block = widest_frame(page.blocks())
    page.browser.move(block["x"] + block["width"] / 2, block["y"] + 5)
    page.browser.wait("!document.getElementById('tip').hidden", "a tooltip")
    text = page.browser.evaluate("document.getElementById('tip').textContent")
    check(block["name"] in text and "wall time" in text and "%" in text,
          "a tooltip tells name, times and share")
    page.browser.move(1, 1)


def check_search(page):
    browser = page.browser
    block = widest_frame(page.blocks())
    browser.key("/")
    browser.type("^" + "".join(
        c if c.isalnum() else "." for c in block["name"]) + " ")
    browser.wait("forkflame.state().matched !== null", "a search")
    state = page.state()
    least = block["value"] / state["total"]
    check(least - 1e-9 <= state["matched"] <= 1 + 1e-9,
          f"a search by a pattern finds {100 * state['matched']:.1f} % of "
          "the time")
    check("%" in page.text("matched"), "and says how much")
    found = [b for b in page.blocks() if b["matched"]]
    check(found and any(block["name"] == b["name"] for b in found) and
          len(found) < len(page.blocks()), "and marks the right blocks")
    page.picture("searched")
    browser.type("(no such name")
    browser.wait("forkflame.state().matched === 0", "a search for nothing")
    browser.key("Escape")
    check(page.state()["matched"] is None, "Escape ends the search")


def check_callers(page):
    """By callers, each process apart: it is where each chain ends."""
    page.choose("group", "process")
    page.browser.click_on("#inverted")
    blocks = page.blocks()
    check(not any(b["place"] for b in blocks if b["depth"] > 1 and
                  b["name"].split(":")[0].isdigit()) and
          any(not b["place"] for b in blocks if b["depth"] > 1),
          "callers end at their process")
    page.browser.click_on("#inverted")


def check_views(page):
    browser, before = page.browser, page.state()
    page.choose("group", "all")
    first = [b for b in page.blocks() if b["depth"] == 1]
    check(page.state()["total"] == before["total"] and
          all(b["place"] for b in first),
          "processes merge into one stack of the same weight")
    page.picture("merged")
    browser.click_on("#inverted")
    first = [b for b in page.blocks() if b["depth"] == 1]
    check(page.state()["inverted"] and
          all(b["self"] == b["value"] for b in first),
          "inverted, it begins with what ran")
    weight = sum(b["value"] for b in first)
    check(0 < weight <= before["total"] + 1e-6, "and adds up to the total")
    page.picture("inverted")
    browser.click_on("#inverted")
    browser.click_on("#flame")
    blocks = page.blocks()
    check(all(b["y"] <= blocks[0]["y"] for b in blocks),
          "upward, the roots are at the foot")
    browser.click_on("#flame")
    for value in ("line", "file", "function"):
        page.choose("frames", value)
        check(page.state()["frames"] == value and
              page.state()["total"] == before["total"],
              f"blocks can be by {value}")
    for value in ("thread", "role", "process"):
        page.choose("group", value)
        check(sum(b["value"] for b in page.blocks() if b["depth"] == 1)
              <= before["total"] + 1e-6, f"and grouped by {value}")
    other = "wall" if before["measure"] == "cpu" else "cpu"
    browser.click_on("#" + other)
    state = page.state()
    check(state["measure"] == other and state["total"] != before["total"],
          "the measure can be switched")
    page.picture(other)
    browser.click_on("#" + before["measure"])
    check(page.state()["total"] == before["total"], "and switched back")


def check_time(page):
    browser, before = page.browser, page.state()
    lane = page.lanes()[0]
    x, y = lane["x"], lane["y"] + lane["height"] / 2
    browser.drag(x + 0.2 * lane["width"], y, x + 0.6 * lane["width"], y)
    state = page.state()
    share = (state["until"] - state["from"]) / (before["until"] -
                                                before["from"])
    check(abs(share - 0.4) < 0.01, "a time is selected by dragging")
    check(0 < state["total"] < before["total"],
          "and all below is of that time")
    check("Selected" in page.text("picked"), "and it says so")
    page.picture("time")
    fragment = browser.evaluate("location.hash")
    browser.click_on("#clear")
    check(page.state()["total"] == before["total"], "it can be cleared")
    page.open(fragment)
    # The address has whole microseconds.
    check(abs(page.state()["total"] - state["total"]) <
          2 + 1e-5 * state["total"], "and come back to by its address")
    browser.key("Escape")
    check(page.state()["total"] == before["total"], "Escape clears it too")
    browser.evaluate("document.getElementById('lanes').focus()")
    for _ in range(5):
        browser.key("ArrowLeft", "shift")
    check(abs(page.state()["until"] - (before["from"] + 0.9 * (
        before["until"] - before["from"]))) < 2, "so can the keyboard select")
    browser.key("Escape")
    browser.wheel(x + 0.5 * lane["width"], y, -240, "ctrl")
    browser.wait("!document.getElementById('whole').disabled",
                 "the wheel zooms the time")
    browser.click_on("#whole")


def check_processes(page):
    browser, before = page.browser, page.state()
    lane = page.lanes()[0]
    page.click(lane)
    one = page.state()
    check(one["processes"] >= 1 and one["total"] <= before["total"],
          "a click selects a process")
    lanes = page.lanes()
    if len(lanes) > 1:
        page.click(lanes[1], "ctrl")
        both = page.state()
        check(both["processes"] > one["processes"] and
              both["total"] >= one["total"], "with Ctrl one more")
        page.picture("processes")
    browser.click_on("#clear")
    page.click(lane, "alt")
    check(page.state()["processes"] >= len(
        [lane for lane in lanes if lane["kind"] == "process"]),
        "with Alt it and its children")
    browser.click_on("#clear")
    check(page.state()["processes"] == 0, "and all again")
    browser.evaluate("document.getElementById('lanes').focus()")
    browser.key("ArrowUp")
    browser.key("Enter")
    check(page.state()["processes"] >= 1, "Enter selects as well")
    check(lane["name"] in page.text("details"), "and it is told in words")
    browser.key("Escape")
    browser.evaluate("document.getElementById('lanes').blur()")


def check_tables(page):
    browser = page.browser
    browser.click_on("#tab-functions")
    rows = browser.evaluate(
        "[...document.querySelectorAll('#functions tbody tr')].map("
        "(row) => [...row.cells].map((cell) => cell.textContent))")
    check(rows and all(len(row) == 4 for row in rows),
          "functions have a table")
    browser.click_on("#functions tbody button")
    check(rows[0][0] in page.text("function") and
          "process" in page.text("function"),
          "and a function its processes and lines")
    page.picture("functions")
    browser.click_on("#functions th:nth-child(4) button")
    check(browser.evaluate("document.querySelector('#functions "
                           "[aria-sort=descending]').textContent") == "Total",
          "it can be sorted")
    for tab in ("pools", "summary"):
        browser.click_on("#tab-" + tab)
        check(len(page.text("panel-" + tab)) > 20, f"there are {tab}")
        page.picture(tab)
    browser.evaluate("document.getElementById('tab-summary').focus()")
    browser.key("ArrowRight")
    check(page.state()["tab"] == "flame", "arrows go from tab to tab")


def check_address(page):
    browser = page.browser
    page.choose("group", "all")
    page.click(widest_frame(page.blocks()))
    before = page.state()
    page.open(browser.evaluate("location.hash"))
    after = page.state()
    check(before["depth"] > 0 and all(
        before[key] == after[key]
        for key in ("measure", "group", "zoomed", "depth")),
        "the address brings back what was shown")
    page.open("#measure=__proto__&zoom=9.x.-7&search=%00(%ff&time=9-1"
              "&processes=0-99999999999.x&threads=-1&function=1e9&tab=x")
    check(page.state()["depth"] == 0, "a broken address does no harm")


def check_looks(page):
    browser = page.browser
    page.open()
    page.picture("light")
    back = "getComputedStyle(document.body).backgroundColor"
    light = browser.evaluate(back)
    browser.scheme("dark")
    check(browser.evaluate(back) != light, "it is dark where that is wanted")
    page.picture("dark")
    browser.click_on("#theme")
    check(browser.evaluate(back) == light, "and light where that is chosen")
    browser.click_on("#theme")
    browser.scheme("light")
    check(browser.evaluate(back) != light, "or dark")
    browser.click_on("#theme")
    browser.scheme("dark")
    browser.size(390, 780, 2)
    check(browser.evaluate("document.documentElement.scrollWidth") <= 390,
          "it fits a narrow screen")
    page.picture("narrow")
    browser.scheme("light")
    browser.size(1360, 820)


def check_hostile_names(page):
    """Only on a page of our own program: its names must have got there."""
    names = {b["name"] for b in page.blocks()}
    check("<img src=x onerror=alert(1)>" in names,
          "a name that looks like markup is shown as it is")
    check(any("first_child" in n for n in names), "the children are there")


def check_closed(page):
    browser = page.browser
    check(browser.evaluate("document.images.length") == 0,
          "no name became an element")
    check(not browser.problems, f"nothing went wrong: {browser.problems}")
    outside = [url for url in browser.requests
               if not url.startswith(("file://", "about:"))]
    check(not outside, f"nothing was asked of a network: {outside}")
    answer = browser.evaluate("fetch('http://127.0.0.1:9/').then("
                              "() => 'sent', () => 'refused')")
    check(answer == "refused" and
          any("Content Security Policy" in p for p in browser.problems),
          "the page's policy lets nothing out")


def made(browser, kind, folder):
    """A page of a made up history."""
    path = os.path.join(folder, kind + ".html")
    subprocess.run([os.environ["PAGE_MAKER"], kind, path], check=True,
                   timeout=300)
    page = Page(browser, "file://" + path,
                os.environ.get("SCREENSHOTS", folder))
    page.size = os.path.getsize(path)
    page.open()
    return page


class Frames:
    """How long the page's frames take during a `with`."""

    def __init__(self, browser):
        self.browser = browser

    def __enter__(self):
        self.browser.evaluate(
            "(() => { let last = performance.now(); window.frames_ = [];"
            "const step = () => { const now = performance.now();"
            "if (!window.frames_) return;"
            "window.frames_.push(now - last); last = now;"
            "requestAnimationFrame(step); };"
            "requestAnimationFrame(step); })()")
        return self

    def __exit__(self, *_):
        times = self.browser.evaluate(
            "(() => { const f = window.frames_; window.frames_ = null;"
            "return f; })()")
        self.times = sorted(times[1:]) or [0]
        self.typical = self.times[len(self.times) // 2]
        self.most = self.times[-1]


def check_empty(browser, folder):
    page = made(browser, "empty", folder)
    check("Nothing was sampled" in page.text("empty") and
          not page.lanes(), "a run without anything has a page too")
    for tab in ("functions", "pools", "summary", "flame"):
        browser.click_on("#tab-" + tab)


def check_pool(browser, folder):
    page = made(browser, "pool", folder)
    fold = next(lane for lane in page.lanes() if lane["kind"] == "fold")
    check(fold["members"] == 8, "equal workers are one lane")
    browser.evaluate("document.getElementById('lanes').focus()")
    browser.key("ArrowDown")
    browser.key("ArrowRight")
    check(any(lane["depth"] == 2 for lane in page.lanes()),
          "which can be unfolded")
    page.picture("unfolded")
    browser.key("Enter")
    browser.key("ArrowDown")
    browser.key(" ")
    browser.evaluate("document.getElementById('lanes').blur()")
    browser.click_on("#clear")
    browser.click_on("#tab-pools")
    check("8 processes" in page.text("pools"), "pools have cards")
    browser.click_on("#pools button")
    check(page.state()["processes"] == 8, "which select their members")
    browser.click_on("#tab-functions")
    browser.click_on("#functions tbody button")
    page.picture("source")
    check("convert(rows[" in page.text("function"),
          "source lines are shown")


def check_diff(browser, folder):
    page = made(browser, "diff", folder)
    state, blocks = page.state(), page.blocks()
    check(state["diff"] and any(b["base"] for b in blocks),
          "a comparison is shown where there is a base")
    slower = [b for b in blocks if b["name"] == "price"]
    check(slower and slower[0]["value"] > 1.5 * slower[0]["base"],
          "and what became slower stands out")
    page.picture("diff")
    browser.click_on("#scaled")
    browser.click_on("#tab-functions")
    check("Change" in page.text("functions"), "the table has the changes")
    page.picture("diff-functions")
    browser.click_on("#tab-flame")
    browser.click_on("#diff")
    check(not page.state()["diff"], "it can be left")


def check_hosts(browser, folder):
    page = made(browser, "hosts", folder)
    first = [b["name"] for b in page.blocks() if b["depth"] == 1]
    check(sorted(first) == ["build-7", "build-8"],
          "hosts are the outermost level where there are several")
    check(any("build-8" in lane["name"] for lane in page.lanes()),
          "and lanes tell them")
    page.picture("hosts")


def check_speed(browser, kind, folder):
    page = made(browser, kind, folder)
    started = page.state()["started"]
    print(f"{kind}: {page.size / 1e6:.1f} MB, drawn after {started:.0f} ms")
    check(started < LARGE_MS, f"{kind}: it is drawn in time")
    check(page.size < 20e6, f"{kind}: it is no larger than it must be")
    browser.evaluate("document.getElementById('lanes').focus()")
    browser.key("ArrowDown")
    browser.key("ArrowRight")
    with Frames(browser) as scroll:
        for _ in range(40):
            browser.evaluate(
                "new Promise((done) => { requestAnimationFrame(done);"
                "document.getElementById('lanes-view').scrollTop += 91; })")
    lane = page.lanes()[0]
    with Frames(browser) as zoom:
        for _ in range(20):
            browser.wheel(lane["x"] + 300, lane["y"] + 5, -40, "ctrl")
    for name, frames in (("scroll", scroll), ("zoom", zoom)):
        print(f"{kind}: {name}: frames of {frames.typical:.0f} ms, "
              f"the longest {frames.most:.0f} ms")
        check(frames.typical < FRAME_MS, f"{kind}: {name} does not stutter")
    page.picture(kind)
    browser.click_on("#whole")
    for button in ("#inverted", "#wall", "#tab-functions"):
        begun = time.monotonic()
        browser.click_on(button)
        page.state()
        took = 1000 * (time.monotonic() - begun)
        print(f"{kind}: {button} took {took:.0f} ms")
        check(took < LARGE_MS, "and answers to a click")
    page.picture(kind + "-functions")


def record(folder):
    """A page of a run of our own."""
    program = os.path.join(folder, "program.py")
    page = os.path.join(folder, "page.html")
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    forkflame = os.path.abspath(os.environ["FORKFLAME"])
    subprocess.run([forkflame, "record", "-o", page, "--",
                    sys.executable, program], check=True, timeout=120)
    return page


def run(path, folder):
    own = not os.environ.get("PAGE")
    file = os.environ.get("PAGE") or record(folder)
    with chromium.Browser(path) as browser:
        browser.size(1360, 820)
        browser.scheme("light")
        page = Page(browser, "file://" + os.path.abspath(file),
                    os.environ.get("SCREENSHOTS", folder))
        page.open()
        check_opening(page)
        if own:
            check_hostile_names(page)
        check_tooltip(page)
        check_zoom(page)
        check_search(page)
        check_callers(page)
        check_views(page)
        check_time(page)
        check_processes(page)
        check_tables(page)
        check_address(page)
        check_looks(page)
        if os.environ.get("PAGE_MAKER"):
            check_empty(browser, folder)
            check_pool(browser, folder)
            check_diff(browser, folder)
            check_hosts(browser, folder)
            for kind in ("many", "stacks"):
                check_speed(browser, kind, folder)
            page.open()
        check_closed(page)


def main():
    path = chromium.find()
    if not path:
        print("SKIP: machine cannot: there is no chromium")
        return 77
    if not os.environ.get("FORKFLAME") and not os.environ.get("PAGE"):
        print("live_page.py: set FORKFLAME or PAGE", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="forkflame-page-") as folder:
        try:
            run(path, folder)
        except (chromium.Failed, subprocess.SubprocessError) as error:
            print(f"not ok: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
