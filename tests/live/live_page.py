#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Use the flame graph page in a real browser, as a person would.

FORKFLAME    the program: a run is recorded to have a page
PAGE         a page that exists already, instead
PAGE_MAKER   the unit test test_flamegraph: writes a page of 50,000 stacks;
             without it the page's speed is not looked at
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

LARGE_MS = 10000  # far above what it takes (0.8 s): test machines are busy


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

    def click(self, block):
        self.browser.click(block["x"] + block["width"] / 2,
                           block["y"] + block["height"] / 2)

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
    note = page.browser.evaluate("!document.getElementById('note').hidden")
    check(state["measure"] == ("wall" if note else "cpu"),
          "on-CPU time is shown first, unless there is none")
    for block in blocks:
        if block["value"] < 0 or block["self"] > block["value"]:
            raise chromium.Failed(f"weights do not add up: {block}")


def check_zoom(page):
    all_width = page.blocks()[0]["width"]
    block = widest_frame(page.blocks())
    page.click(block)
    state = page.state()
    check(state["zoomed"] == block["name"] and
          state["depth"] == block["depth"], "a click zooms")
    now = [b for b in page.blocks() if b["depth"] == block["depth"]]
    check(len(now) == 1 and now[0]["width"] == all_width,
          "what is zoomed fills the width")
    details = page.browser.evaluate(
        "document.getElementById('details').textContent")
    check(block["name"] in details and "%" in details,
          "its name and share are told in words")
    page.picture("zoomed")
    page.browser.key("Backspace")
    check(page.state()["depth"] == block["depth"] - 1,
          "Backspace zooms out by one")
    page.browser.key("Escape")
    check(page.state()["depth"] == 0, "Escape shows everything")
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
    browser.type(block["name"])
    browser.wait("forkflame.state().matched !== null", "a search")
    state = page.state()
    least = block["value"] / state["total"]
    check(least - 1e-9 <= state["matched"] <= 1 + 1e-9,
          f"a search finds {100 * state['matched']:.1f} % of the time")
    check("%" in browser.evaluate(
        "document.getElementById('matched').textContent"),
        "and says how much")
    found = [b for b in page.blocks() if b["matched"]]
    check(found and all(block["name"].lower() in b["name"].lower() or
                        block["name"].lower() in b["place"].lower()
                        for b in found), "and marks the right blocks")
    page.picture("searched")
    browser.type(" no such name")
    browser.wait("forkflame.state().matched === 0", "a search for nothing")
    browser.key("Escape")
    check(page.state()["matched"] is None, "Escape ends the search")


def check_callers(page):
    """Inverted, each process apart: it is where each chain of callers ends."""
    page.browser.click_on("#inverted")
    blocks = page.blocks()
    check(not any(b["place"] for b in blocks if b["depth"] > 1 and
                  b["name"].split(":")[0].isdigit()) and
          any(not b["place"] for b in blocks if b["depth"] > 1),
          "callers end at their process")
    page.browser.click_on("#inverted")


def check_views(page):
    browser, before = page.browser, page.state()
    browser.click_on("#merged")
    first = [b for b in page.blocks() if b["depth"] == 1]
    check(page.state()["merged"] and page.state()["total"] == before["total"]
          and all(b["place"] for b in first),
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
    browser.click_on("#lines")
    check(page.state()["lines"], "lines can be told apart")
    for button in ("#lines", "#inverted", "#merged"):
        browser.click_on(button)
    other = "wall" if before["measure"] == "cpu" else "cpu"
    browser.click_on("#" + other)
    state = page.state()
    check(state["measure"] == other and state["total"] != before["total"],
          "the measure can be switched")
    page.picture("wall")
    browser.click_on("#" + before["measure"])
    check(page.state()["total"] == before["total"], "and switched back")


def check_address(page):
    browser = page.browser
    browser.click_on("#merged")
    page.click(widest_frame(page.blocks()))
    before = page.state()
    page.open(browser.evaluate("location.hash"))
    after = page.state()
    check(before["depth"] > 0 and all(
        before[key] == after[key]
        for key in ("measure", "merged", "zoomed", "depth")),
        "the address brings back what was shown")
    page.open("#measure=__proto__&zoom=9.x.-7&search=%00%ff")
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


def check_large(browser, folder):
    path = os.path.join(folder, "large.html")
    subprocess.run([os.environ["PAGE_MAKER"], path], check=True, timeout=300)
    page = Page(browser, "file://" + path,
                os.environ.get("SCREENSHOTS", folder))
    page.open()
    started = page.state()["started"]
    print(f"50,000 stacks: {os.path.getsize(path) / 1e6:.1f} MB, drawn after "
          f"{started:.0f} ms")
    check(started < LARGE_MS, "50,000 stacks are drawn in time")
    page.picture("large")
    for button in ("#inverted", "#merged", "#wall"):
        begun = time.monotonic()
        browser.click_on(button)
        page.state()
        took = 1000 * (time.monotonic() - begun)
        print(f"50,000 stacks: {button} took {took:.0f} ms")
        check(took < LARGE_MS, "and answer to a click")
    page.picture("large-inverted")


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
        check_address(page)
        check_looks(page)
        check_closed(page)
        if os.environ.get("PAGE_MAKER"):
            check_large(browser, folder)


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
