# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of what is seen, and of what the target notices: short-lived
children, stacks, latency, interrupted calls and signals."""
import re
import statistics
import time

from cases import Case, must
from harness import Neighbours, NotTested, Trouble, samples, seconds, within
from verdicts import judge


class Kids(Case):
    name, key = "kids", "p_ms"
    title = "Children that live for some milliseconds, at 100 Hz"
    columns = (("kids", "children", "%d"), ("seen", "seen", "%d"),
               ("sampled", "sampled", "%d"), ("share", "share of time", "%.3f"),
               ("p_ms", "profiler ms", "%.0f"))
    about = """\
seen: with any stack in the profile; sampled: with one of their work; share: of the wall
time of that work, as they know it themselves; profiler ms: its CPU time from the first
child until it has written its profile."""

    def variants(self, quick):
        if quick:
            return [(20, 50, 1), (20, 10, 8)]
        return [(100, ms, together) for ms in (50, 10) for together in (1, 8)]

    def measure(self, variant, profiler):
        with self.target(profiler, "kids.py") as target, \
                self.watch(profiler, target, 100, children=True) as watch:
            self.settle()
            before = watch.cpu_now()
            kids = dict(target.do(*variant, patience=120)["kids"])
            time.sleep(.1)
            stacks = watch.end()
        at_work = within(stacks, "child_work", kids)
        return dict(watch.says(), kids=len(kids),
                    seen=len({one.pid for one in stacks} & set(kids)),
                    sampled=len({one.pid for one in at_work}),
                    share=seconds(at_work) / sum(kids.values()),
                    p_ms=1000 * (watch.cpu - before))


class Stacks(Case):
    name, key = "stacks", "wrong_ppm"
    title = "Impossible stacks, at 1000 Hz"
    columns = (("n", "samples", "%d"), ("impossible", "impossible", "%d"),
               ("rootless", "rootless", "%d"), ("flagged", "marked", "%d"),
               ("dropped", "dropped", "%d"), ("dropped_pct", "dropped %", "%.1f"),
               ("wrong_ppm", "wrong ppm", "%.0f"))
    rounds, both = (1, 3), True
    about = """\
Programs in which few stacks are possible. rootless: without the outermost frame;
marked: the profiler says itself that it could not read a frame; dropped: samples that
it says it has thrown away."""

    def variants(self, quick):
        return [("alternating",), ("recursion",), ("churn",)]

    def measure(self, variant, profiler):
        program = variant[0]
        with self.target(profiler, "stacks.py", program) as target, \
                self.watch(profiler, target, 1000, counts=True) as watch:
            self.settle()
            target.do(self.bench.long or (2 if self.bench.quick else 30), patience=600)
            count = judge(program, watch.end(60))
        if not count["n"]:
            raise Trouble("no sample is one of the program at work")
        wrong = count["impossible"] + count["rootless"]
        return dict(count, wrong_ppm=1e6 * wrong / count["n"], **watch.says())


def first_slots(stacks, slot):
    """pid -> when its first stack was taken, after its first slot began."""
    first = {}
    for stack in stacks:
        slots = [int(name[2:]) for name in stack.names if re.match(r"p_\d+$", name)]
        if slots:
            when = slots[0] * slot
        elif "birth" in stack.names and "farewell" not in stack.names:
            when = 0  # it is not at its first slot yet
        else:
            continue
        first[stack.pid] = min(first.get(stack.pid, when), when)
    return first


class Births(Case):
    name, key = "births", "first_ms"
    title = "From fork to first sample, and children of 40 ms without any"
    columns = (("first_ms", "median ms", "%.2f"), ("late_ms", "90th % ms", "%.2f"),
               ("unseen", "without", "%d"))
    about = "Told by the profile itself, within half a millisecond."

    def variants(self, quick):
        if quick:
            return [(100, "")]
        return [(hz, load) for hz in (100, 1000) for load in ("", "busy")]

    def measure(self, variant, profiler):
        hz, load = variant
        count = 20 if self.bench.quick else 100
        with Neighbours(load), \
                self.target(profiler, "slots.py", .5, 80) as target, \
                self.watch(profiler, target, hz, children=True) as watch:
            self.settle()
            kids = dict(target.do(count)["kids"])
            time.sleep(.1)
            stacks = watch.end()
        first = first_slots(stacks, .5)
        times = sorted(1000 * late + first[pid] for pid, late in kids.items()
                       if pid in first)
        figures = {"unseen": len(kids) - len(times)}
        if times:
            figures.update(first_ms=statistics.median(times),
                           late_ms=times[int(.9 * (len(times) - 1))])
        return figures


class Attach(Case):
    name, key = "attach", "first_ms"
    title = "From the start of the profiler to its first sample, at 1000 Hz"
    columns = (("first_ms", "ms", "%.1f"),)
    rounds = 3, 15
    about = """\
Told by the profile itself, within a millisecond; from before the start of the program,
so with its loading."""

    def variants(self, quick):
        return [("",)] if quick else [("",), ("busy",)]

    def measure(self, variant, profiler):
        count = 2000 if profiler.in_root else 1200
        with Neighbours(variant[0]), \
                self.target(profiler, "slots.py", 1, count) as target:
            target.order(0)
            with self.watch(profiler, target, 1000) as watch:
                begin = target.answer(60)["begin"]
                stacks = watch.end()
        first = first_slots(stacks, 1).values()
        if not first:
            raise Trouble("it had no sample within %d ms" % count)
        return {"first_ms": 1000 * (begin - watch.started) + min(first)}


class Interrupted(Case):
    name, key = "eintr", "eintr"
    title = "System calls of sleeping threads that fail with EINTR"
    columns = (("calls", "calls of 50 ms", "%d"), ("eintr", "EINTR", "%d"),
               ("brief", "calls of 1 ms", "%d"), ("brief_eintr", "their EINTR", "%d"),
               ("samples", "samples", "%d"))
    none = True
    about = "epoll_wait, sigtimedwait, semtimedop and recv; no signal is sent."

    def variants(self, quick):
        return [(1000,)] if quick else [(100,), (1000,)]

    def measure(self, variant, profiler):
        if not self.bench.native:
            raise NotTested("no C compiler")
        long = 3 if self.bench.quick else 20
        with self.target(profiler, "eintr.py", self.bench.native) as target:
            if not profiler:
                return self.counts(target.do(long))
            with self.watch(profiler, target, variant[0], idle=True) as watch:
                self.settle()
                figures = self.counts(target.do(long))
                found = must(watch.end(), "busy_work")
        return dict(figures, samples=samples(found))

    @staticmethod
    def counts(answer):
        calls = answer["calls"]
        brief = calls.pop("epoll_brief")
        return {"calls": sum(n for n, _ in calls.values()), "brief": brief[0],
                "eintr": sum(n for _, n in calls.values()), "brief_eintr": brief[1]}


class Signals(Case):
    name, key = "signals", "lost"
    title = "Real-time signals to a target that is sampled at 1000 Hz"
    columns = (("sent", "sent", "%d"), ("lost", "lost", "%d"),
               ("unordered", "out of turn", "%d"), ("samples", "samples", "%d"))
    rounds, none = (1, 1), True
    about = "Each has a number; a handler in C checks it."

    def variants(self, quick):
        return [(5000, 100)] if quick else [(100000, 20), (100000, 500)]

    def measure(self, variant, profiler):
        if not self.bench.native:
            raise NotTested("no C compiler")
        with self.target(profiler, "signals.py", self.bench.native) as target:
            if not profiler:
                return self.counts(variant, target.do(*variant, patience=300))
            with self.watch(profiler, target, 1000) as watch:
                self.settle()
                figures = self.counts(variant, target.do(*variant, patience=300))
                found = must(watch.end(), "busy_work")
        return dict(figures, samples=samples(found))

    @staticmethod
    def counts(variant, answer):
        if not answer["sent_all"]:
            raise Trouble("the sender could not send all of them")
        return {"sent": variant[0], "lost": variant[0] - answer["came"],
                "unordered": answer["unordered"]}
