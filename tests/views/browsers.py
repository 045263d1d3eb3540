# SPDX-License-Identifier: Apache-2.0
"""Views in a browser: speedscope, the SVG, and the page itself."""
import base64
import json
import os
import time

from viewlib import Missing, module  # first: it says where others are
from ffparse import expect, unescape
import tools

import chromium
import live_page

# The state of speedscope is in what Preact has drawn: a tree of nodes, whose
# root hangs on the element that it was drawn into.
SPEEDSCOPE = """
(() => {
  const root = Array.from(document.querySelectorAll("*")).find((e) => e.__k);
  const queue = root ? [root.__k] : [];
  while (queue.length) {
    const node = queue.pop();
    if (!node || typeof node !== "object") continue;
    const group = node.props && node.props.profileGroup;
    if (group && group.profiles) {
      return { name: group.name, profiles: group.profiles.map((one) => {
        const names = [];
        one.profile.forEachFrame((frame) => names.push(
            [frame.name, frame.file || ""]));
        return { name: one.profile.getName(),
                 all: one.profile.getTotalWeight(),
                 busy: one.profile.getTotalNonIdleWeight(),
                 names: LOUD ? names : [] };
      }) };
    }
    queue.push(...(node.__k || []));
  }
  return null;
})()
"""


def browser_path():
    path = chromium.find()
    if not path:
        raise Missing("no chromium: run tests/views/install.sh")
    return path


class Window:
    """One Chromium for all views; started when it is first wanted."""

    def __init__(self, pictures):
        self.pictures = pictures
        self.browser = None

    def get(self):
        if not self.browser:
            self.browser = chromium.Browser(browser_path()).__enter__()
            self.browser.size(1360, 820)
            self.browser.scheme("light")
        del self.browser.problems[:]
        del self.browser.requests[:]
        return self.browser

    def picture(self, name):
        self.browser.evaluate("new Promise((done) => requestAnimationFrame("
                              "() => requestAnimationFrame(done)))")
        self.browser.screenshot(os.path.join(self.pictures, name + ".png"))

    def close(self):
        if self.browser:
            self.browser.close()


def in_speedscope(window, recording, path, loud=False):
    """Load a file as speedscope's own command does: by a script beside it."""
    browser = window.get()
    page = module("speedscope", "dist", "release", "index.html")
    script = path + ".js"
    with open(path, "rb") as file, open(script, "w") as out:
        out.write("speedscope.loadFileFromBase64(%s, %s)" % (
            json.dumps(os.path.basename(path)),
            json.dumps(base64.b64encode(file.read()).decode())))
    browser.open("about:blank")
    browser.open("file://%s#localProfilePath=%s" % (page, script))
    state = SPEEDSCOPE.replace("LOUD", "true" if loud else "false")
    end = time.monotonic() + 60
    group = None
    while not group:
        time.sleep(.05)
        said = browser.evaluate("document.body ? document.body.innerText : ''")
        expect(time.monotonic() < end and "went wrong" not in said,
               "it shows %s; %s", said[-80:], browser.problems[-1:])
        group = browser.evaluate(state)
    # Of the browser's own log only this; it also speaks of its graphics.
    problems = [one for one in browser.problems
                if not one.startswith(("console:", "log:"))]
    expect(not problems, "it said: %s", problems)
    window.picture("speedscope-%s-%s" % (recording.name,
                                         os.path.basename(path)))
    os.unlink(script)
    return group["profiles"]


def speedscope(window, recording):
    truth = recording.truth
    loud = bool(tools.odd_names(recording))
    profiles = in_speedscope(window, recording, recording.view("speedscope"),
                             loud)
    expect(len(profiles) == len(truth.threads), "%d profiles of %d threads",
           len(profiles), len(truth.threads))
    busy = sorted(one["busy"] for one in profiles)
    right = sorted(truth.threads.values())
    expect(busy == right, "weights: %s, the recording has %s", busy[-9:],
           right[-9:])
    names = {tuple(name) for one in profiles for name in one["names"]}
    for place in tools.odd_names(recording):
        expect(place in names, "no %r in %r", *place)
    cpu = in_speedscope(window, recording, recording.view(
        "speedscope", "--mode", "cpu", name="cpu"))
    seen = sum(one["busy"] for one in cpu)
    expect(seen == truth.cpu, "CPU: %s, the recording has %s", seen, truth.cpu)
    return "%d profiles" % len(profiles)


def other_in_speedscope(window, recording, form):
    """Formats of others that speedscope reads too."""
    truth = recording.truth
    profiles = in_speedscope(window, recording, recording.view(form))
    # speedscope lists the threads that have no events, too.
    loaded = [one for one in profiles if one["busy"]]
    count, right, slack = {
        "collapsed": (1, truth.wall / 1000, 1e-4),
        "pprof": (1, truth.wall, 0),
        # It makes a tree of the graph as best it can; recursion adds to it.
        "callgrind": (None, None, 0),
        "chrome": (len(truth.threads), None, 0),
    }[form]
    if count is not None:
        expect(len(loaded) == count, "%d profiles, %d expected", len(loaded),
               count)
    expect(loaded, "nothing in it")
    seen = sum(one["busy"] for one in loaded)
    if right is not None:
        expect(abs(seen - right) <= slack * right + 100, "total: %s of %s",
               seen, right)
    return "%d profiles" % len(loaded)


def no_problems(browser):
    expect(not browser.problems, "scripts said: %s", browser.problems[:3])
    outside = [url for url in browser.requests
               if not url.startswith(("file://", "about:", "data:", "blob:"))]
    expect(not outside, "it asked a network: %s", outside[:3])


WIDEST = """
(() => {
  const row = (e) => Number(e.querySelector("rect").getAttribute("y"));
  const all = Array.from(document.querySelectorAll("#frames > g"));
  const deep = all.filter((e) => row(e) > row(all[0]) + 20 &&
      !e.classList.contains("rest") &&
      e.dataset.w < 0.95 * all[0].dataset.w);
  deep.sort((a, b) => b.dataset.w - a.dataset.w);
  const e = deep[0];
  e.scrollIntoView({ block: "center" });
  const b = e.querySelector("rect").getBoundingClientRect();
  return { x: b.x + b.width / 2, y: b.y + b.height / 2, width: b.width,
           n: all.length,
           name: e.querySelector("title").textContent.split("\\n")[0],
           at: all.indexOf(e) };
})()
"""


def svg(window, recording):
    browser = window.get()
    browser.open("about:blank")
    browser.open("file://" + recording.view("svg"))
    browser.wait("document.readyState === 'complete' && "
                 "!!document.querySelector('svg.live')", "its script has run")
    title = browser.evaluate("(document.querySelector('svg > title') || "
                             "document.querySelector('title')).textContent")
    expect(title, "it has no title")
    window.picture("svg-" + recording.name)
    block = browser.evaluate(WIDEST)
    browser.click(block["x"], block["y"])
    width = browser.evaluate(
        "document.querySelectorAll('#frames > g')[%d].querySelector('rect')"
        ".getBoundingClientRect().width" % block["at"])
    expect(width > block["width"] and width > 1200,
           "a click does not zoom: %s wide before, %s after", block["width"],
           width)
    browser.key("Escape")
    browser.key("/")
    browser.type("module")
    found = browser.evaluate("document.querySelectorAll('.found').length")
    said = browser.evaluate("document.getElementById('tools').textContent")
    expect(found > 0 and "% matched" in said, "search: %d found, %r", found,
           said)
    window.picture("svg-%s-search" % recording.name)
    no_problems(browser)
    return "%d blocks" % block["n"]


# live_page.py uses the page as a person would; here only what depends on the
# recording is looked at.

def opening(shown):
    """How long it takes, and the CPU time of the thread that runs the page."""
    shown.browser.call("Performance.enable", timeDomain="threadTicks")
    begin = time.monotonic()
    shown.open()
    took = time.monotonic() - begin
    found = shown.browser.call("Performance.getMetrics")["metrics"]
    shown.browser.call("Performance.disable")
    return took, next(one["value"] for one in found
                      if one["name"] == "ThreadTime")


def page(window, recording, limit=None):
    """@limit: seconds of CPU in which it opens, as others may be busy here."""
    browser = window.get()
    path = recording.view("html")
    shown = live_page.Page(browser, "file://" + path, window.pictures)
    took, cpu = opening(shown)
    expect(cpu > 0, "no CPU time is told of")
    if limit and cpu >= limit:
        took, cpu = min((took, cpu), opening(shown))
    state = shown.state()
    blocks = shown.blocks()
    expect(len(blocks) > 1, "%d blocks are drawn", len(blocks))
    expect(blocks[0]["value"] == state["total"], "its first block is %s of %s",
           blocks[0]["value"], state["total"])
    names = {block["name"] for block in blocks}
    names |= {unescape(name) for name in names}
    for function, _ in tools.odd_names(recording):
        expect(function in names, "no %r is drawn", function)
    truth = recording.truth
    for measure, right in (("wall", truth.wall), ("cpu", truth.cpu),
                           ("gil", truth.gil)):
        if not right:
            continue
        browser.click_on("#" + measure)
        seen = shown.state()["total"]
        # In microseconds, rounded once a stretch of time.
        expect(abs(seen - right / 1000) <= max(2, 1e-3 * right / 1000),
               "%s: %s us, the recording has %s", measure, seen, right / 1000)
    window.picture("page-" + recording.name)
    browser.scheme("dark")
    window.picture("page-%s-dark" % recording.name)
    browser.scheme("light")
    no_problems(browser)
    said = "open after %.2f s (%.2f s of CPU), %.1f MB" % (
        took, cpu, os.path.getsize(path) / 1e6)
    expect(not limit or cpu < limit, "%s", said)
    return said


def page_moves(window, recording):
    """Scrolling and zooming of the page that is open."""
    browser = window.get()
    shown = live_page.Page(browser, "file://" + recording.view("html"),
                           window.pictures)
    shown.open()
    browser.evaluate("document.getElementById('lanes').focus()")
    browser.key("ArrowDown")
    browser.key("ArrowRight")
    lanes = shown.lanes()
    with live_page.Frames(browser) as scroll:
        for _ in range(60):
            browser.evaluate(
                "document.getElementById('lanes-view').scrollTop += 53")
    with live_page.Frames(browser) as zoom:
        for _ in range(30):
            browser.wheel(lanes[0]["x"] + 300, lanes[0]["y"] + 5, -40, "ctrl")
    said = ", ".join("%s: frames of %.0f ms, the longest %.0f ms" % (
        name, frames.typical, frames.most)
        for name, frames in (("scroll", scroll), ("zoom", zoom)))
    window.picture("page-%s-zoomed" % recording.name)
    expect(scroll.typical < 50 and zoom.typical < 50, "it stutters: %s", said)
    no_problems(browser)
    return said
