# SPDX-License-Identifier: Apache-2.0
"""What a benchmark is, and those of cost: slowdown, CPU a sample, pools.

A case has variants; a run is one profiler on one variant, and gives figures (a dict
of numbers), or Trouble. A profiler's output without the stacks that must be there is
Trouble: then it was not at work, and its costs would be none.
"""
import math
import os
import resource
import statistics
import time

from harness import Neighbours, NotTested, Target, Trouble, Watch, samples, seconds, within
from profilers import Clock, one_sampler, refused_perf


class Case:
    """
    columns  (figure, heading, format) of the table
    key      the figure that is compared with forkflame's; less is better
    """

    name = title = key = ""
    columns = ()
    rounds = 1, 3  # quick, whole
    none = False   # with runs without any profiler
    both = False   # quick as well on the Python of 3.15's own profiler

    def __init__(self, bench):
        self.bench = bench

    def variants(self, quick):
        raise NotImplementedError

    def profilers(self, variant):
        """Who takes part."""
        return self.bench.profilers

    def measure(self, variant, profiler):
        raise NotImplementedError

    def close(self):
        """After a round."""

    def more(self, variants):
        """Lines under the table; @variants: variant -> name -> its summaries."""
        return []

    # What cases share

    def target(self, profiler, *script, patience=30):
        python = profiler.python(self.bench) if profiler else self.bench.python
        return Target(python, self.bench.targets, script, patience)

    def watch(self, profiler, target, hz, **how):
        return Watch(profiler, target, hz, self.bench.out(), **how)

    def settle(self):
        time.sleep(self.bench.settle)


def must(stacks, name, least=1):
    """The stacks with the function that has certainly run."""
    found = within(stacks, name)
    if samples(found) < least:
        raise Trouble("%d of its %d samples have %s in them" %
                      (samples(found), samples(stacks), name))
    return found


def middle(units, of):
    return statistics.median(of(unit) for unit in units)


NATIVES = 150


class Slowdown(Case):
    name, key = "slowdown", "slow_pct"
    title = "Slowdown of a CPU-bound target, by rate and depth of stack"
    columns = (("slow_pct", "slowdown %", "%.2f"), ("cpu_pct", "CPU %", "%.2f"),
               ("wall_pct", "wall %", "%.2f"), ("us", "us/sample", "%.1f"),
               ("p_pct", "profiler %", "%.2f"), ("held_us", "held us", "%.0f"),
               ("coverage", "coverage", "%.2f"))
    rounds, none, both = (2, 7), True, True
    about = """\
The same process with the profiler and, before and after, without. Of a unit's wall time
the wait for a CPU is taken off, which is the neighbours' (slowdown %); wall % has it.
us/sample: CPU time of the profiler for each sample; coverage: the share of the target's
time that the profile accounts for. busy: with neighbours on all other CPUs; natives: the
target has 150 threads besides that sleep in C."""

    workers = 1

    def __init__(self, bench):
        super().__init__(bench)
        self.targets = {}

    def variants(self, quick):
        if quick:
            return [(20, 100, ""), (20, 1000, "")]
        rates = [(20, 100), (20, 1000), (20, 5000), (5, 1000), (100, 1000), (500, 1000)]
        return [(depth, hz, load) for depth, hz in rates
                for load in ("", "busy")] + [(20, 1000, "natives")]

    def profilers(self, variant):
        asked = self.bench.asked
        clock = "clock" in asked if asked else not self.bench.quick
        return self.bench.profilers + [Clock()] * clock

    def kept(self, variant, profiler):
        """One process for all that are compared."""
        in_root = bool(profiler and profiler.in_root)
        if (variant, in_root) not in self.targets:
            self.targets[variant, in_root] = self.target(
                profiler, "fixed.py", variant[0], self.workers,
                NATIVES if variant[2] == "natives" else 0)
        return (variant, in_root), self.targets[variant, in_root]

    def close(self):
        for target in self.targets.values():
            target.end()
        self.targets.clear()

    def measure(self, variant, profiler):
        key, target = self.kept(variant, profiler)
        try:
            with Neighbours(variant[2] == "busy"):
                return self.compare(target, variant[1], profiler)
        except Trouble:
            target.end()
            del self.targets[key]
            raise

    def compare(self, target, hz, profiler):
        short, long = (.6, 1.5) if self.bench.quick else (2, 4)
        plain = target.do(short)["units"]
        if profiler:
            with self.watch(profiler, target, hz, children=self.workers > 1) as watch:
                self.settle()
                before = watch.cpu_now()
                units = target.do(long)["units"]
                used = watch.cpu_now() - before
                stacks = watch.end()
                figures = {} if profiler.blind else \
                    self.cost(units, must(stacks, "bottom"), used, hz)
                figures["p_pct"] = (100 * used * self.workers /
                                    sum(unit[0] for unit in units))
                figures.update(watch.says())
        else:
            units, figures = target.do(long)["units"], {}
        plain += target.do(short)["units"]
        for name, of in (("slow_pct", lambda u: u[0] - u[2]),
                         ("cpu_pct", lambda u: u[1]), ("wall_pct", lambda u: u[0])):
            figures[name] = 100 * (middle(units, of) / middle(plain, of) - 1)
        return figures

    @staticmethod
    def cost(units, stacks, used, hz):
        wall = sum(unit[0] for unit in units)
        return {"us": 1e6 * used / (seconds(stacks) * hz),
                "coverage": seconds(stacks) / wall}


class Workers(Slowdown):
    name = "workers"
    title = "Slowdown of CPU-bound workers, one for each CPU"
    rounds = 2, 7
    workers = os.cpu_count() or 1
    about = """\
As above, of processes that keep all CPUs busy. forkflame-1: by one sampling thread
(--samplers=1), which has to stop those that run on other CPUs than its own."""

    def variants(self, quick):
        return [(20, hz, "") for hz in ((1000,) if quick else (100, 1000))]

    def profilers(self, variant):
        return self.bench.profilers + [one_sampler(self.bench.profilers[0])]


class Cost(Case):
    name, key = "cost", "us_tick"
    title = "CPU time of the profiler for running, sleeping and unchanged threads"
    columns = (("us_tick", "us/thread tick", "%.2f"), ("us", "us/sample", "%.2f"),
               ("p_pct", "profiler %", "%.2f"), ("coverage", "coverage", "%.2f"))
    about = """\
One thread that runs; 20 that wake each 4 ms; 20 that never run. A thread tick is a
thread at a tick, whether it was looked at or not: at 100 Hz, 20 threads have 2000 of
them a second. us/sample: for each tick's worth of time that is in the profile."""

    def variants(self, quick):
        return [(kind, hz) for kind in ("running", "sleeping", "unchanged")
                for hz in ((100,) if quick else (100, 1000))]

    def measure(self, variant, profiler):
        kind, hz = variant
        count = 1 if kind == "running" else 20
        with self.target(profiler, "threads.py", kind, count) as target, \
                self.watch(profiler, target, hz, idle=kind != "running") as watch:
            self.settle()
            before = watch.cpu_now()
            wall = target.do(2 if self.bench.quick else 5)["wall"]
            used = watch.cpu_now() - before
            lived = time.monotonic() - watch.started
            # Until it is told to run, that one waits in `member` as well.
            name = "burn" if kind == "running" else "member"
            found = must(watch.end(), name)
        covered = seconds(found) / (count * (wall if kind == "running" else lived))
        ticks = count * hz * wall
        return dict(watch.says(), us_tick=1e6 * used / ticks, p_pct=100 * used / wall,
                    us=1e6 * used / (ticks * covered), coverage=covered)


def available_mib():
    with open("/proc/meminfo") as file:
        return int(dict(line.split(":") for line in file)["MemAvailable"].split()[0]) / 1024


def room_for(members):
    """Why there is no room for so many processes; empty: there is."""
    # A forked interpreter that waits has written to 0.2 MiB; then there are its page
    # tables, and what the kernel and the profiler keep of it.
    wanted = members + 1024
    if wanted > available_mib():
        return "%d MiB of memory are needed, %d are there" % (wanted, available_mib())
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if limit != resource.RLIM_INFINITY and limit < members + 1000 and os.geteuid():
        return "the limit of processes is %d" % limit
    with open("/proc/sys/kernel/pid_max") as file:
        if int(file.read()) < members + 5000:
            return "kernel.pid_max is too small"
    return ""


def slope(points):
    mean_x, mean_y = (statistics.mean(column) for column in zip(*points))
    return (sum((x - mean_x) * (y - mean_y) for x, y in points) /
            sum((x - mean_x) ** 2 for x, _ in points))


class Pool(Case):
    name, key = "pool", "p_pct"
    title = "Pools of processes of which two run, at 100 Hz"
    columns = (("p_pct", "profiler %", "%.2f"), ("rss", "RSS MiB", "%.0f"),
               ("start_cpu", "start CPU s", "%.2f"), ("coverage", "running seen", "%.2f"),
               ("missed_pct", "ticks missed %", "%.2f"))
    about = """\
Once settled: when the profiler's CPU time no longer falls from second to second.
running seen: the share of the time of the two that run."""

    def variants(self, quick):
        return [(n,) for n in ((10, 100) if quick else (10, 100, 1000, 5000, 10000))]

    def profilers(self, variant):
        all_of_them = self.bench.profilers
        return all_of_them[:1] + [refused_perf(all_of_them[0])] + all_of_them[1:]

    def measure(self, variant, profiler):
        members = variant[0]
        if members > profiler.most:
            raise NotTested("%d are too many for it" % members)
        why = room_for(members)
        if why:
            raise NotTested(why)
        long = 2 if self.bench.quick else 6
        patience = 20 + members / 50
        with self.target(profiler, "pool.py", members, patience=patience) as target, \
                self.watch(profiler, target, 100, children=True) as watch:
            start_cpu = self.settled(watch, members, profiler.slow)
            before, size = watch.cpu_now(), 0
            target.order(long)
            size = watch.resident()  # it costs us some CPU, the profiler none
            answer = target.answer(long + patience)
            used = watch.cpu_now() - before
            stacks = must(watch.end(patience), "busy_work")
        found = within(stacks, "busy_work", answer["busy"])
        wall = answer["wall"]
        return dict(watch.says(), p_pct=100 * used / wall, rss=size, start_cpu=start_cpu,
                    coverage=seconds(found) / (2 * wall))

    def settled(self, watch, members, slow):
        """Wait until its CPU time falls no more; returns what it has used."""
        # Some look at one member after the other before they take a sample.
        time.sleep(min(40, self.bench.settle * (1 + slow + members / 16)))
        end, used, rate = time.monotonic() + 10, watch.cpu_now(), math.inf
        while time.monotonic() < end:
            time.sleep(.5)
            now = watch.cpu_now()
            if now - used > .8 * rate or now - used < .005:
                return now
            used, rate = now, now - used
        return used

    def more(self, variants):
        """How the cost grows with the members: the slope of the line that fits."""
        points = {}
        for (members,), rows in variants.items():
            for name, sums in rows.items():
                if self.key in sums:
                    points.setdefault(name, []).append(
                        (members / 1000, sums[self.key]["median"]))
        return ["%s: %.2f %% of a core for 1000 members more" % (name, slope(each))
                for name, each in points.items() if len(each) > 1]
