#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Children of some milliseconds are all seen, and nearly all sampled."""
import fflive
from fflive import expect, near

FORKED, EXECD = (200, 50) if fflive.LONG else (100, 25)


def check_sampled(run, what, pids, least):
    """At least a share of @pids has a sample; the rest is counted by a reason
    (check_run sees to that)."""
    sampled = set(pids) & {one["pid"] for one in run.stats["members"]
                           if one["samples"] > 0}
    expect(len(sampled) >= least * len(pids),
           "%s: only %d of %d have a sample: %s", what, len(sampled), len(pids),
           run.stats["processes"])


def pids_of(run, name):
    return [span["pid"] for span in run.spans(name)]


def lives_of(run, pids):
    return sum(one["left_ns"] - one["born_ns"] for one in run.stats["members"]
               if one["pid"] in set(pids)) / 1e9


def check_work(run, share):
    """The time in tiny is what the children noted, to within a share; or more, where
    they had to wait for a CPU after they had noted its end: up to their lives."""
    pids = pids_of(run, "tiny")
    right = sum(span["end"] - span["begin"] for span in run.spans("tiny"))
    seen, lives = run.weigh(function="tiny"), lives_of(run, pids)
    expect((1 - share) * right <= seen <= max((1 + share) * right, lives),
           "time in tiny: expected %.3g +- %g %%, saw %.3g in lives of %.3g", right,
           100 * share, seen, lives)
    return right


def short_lived_children_are_seen_and_sampled(python):
    run = fflive.run([], [python, fflive.program("short_children.py"),
                          FORKED, .03, 1, EXECD])
    fflive.check_run(run)
    seen = run.stats["processes"]["seen"]
    expect(seen == 1 + FORKED + EXECD, "seen: expected %d, saw %d",
           1 + FORKED + EXECD, seen)
    check_sampled(run, "forked", pids_of(run, "tiny"), .95)
    check_sampled(run, "exec'd", pids_of(run, "tiny_exec"), .80)
    check_work(run, .15)


def check_lives(together):
    """100 children of 50 ms: all seen, 99 sampled, their lives accounted for."""
    run = fflive.run([], [fflive.newest(), fflive.program("short_children.py"),
                          100, .05, together, 0])
    fflive.check_run(run)
    expect(run.stats["processes"]["seen"] == 101, "seen: expected 101, saw %s",
           run.stats["processes"])
    pids = pids_of(run, "tiny")
    check_sampled(run, "forked", pids, .99)
    # What a child itself can measure is less than its life: it leaves out the
    # way from the fork to its first line and from its last line to its end,
    # both of them long when eight share two cores. The kernel's times do not.
    lives = lives_of(run, pids)
    seen = sum(run.weigh(pid) for pid in pids)
    near("lives of 100 children of 50 ms", seen, lives, .02 * lives)
    right = check_work(run, .10)
    print("  %d at a time: %.1f %% of their lives, %.1f %% of their work,"
          " profiler %.0f ms of CPU"
          % (together, 100 * seen / lives,
             100 * run.weigh(function="tiny") / right,
             run.stats["profiler_cpu_ns"] / 1e6))


def one_child_at_a_time_is_accounted_for():
    check_lives(1)


def eight_children_at_a_time_are_accounted_for():
    check_lives(8)


if __name__ == "__main__":
    fflive.main([short_lived_children_are_seen_and_sampled],
                [one_child_at_a_time_is_accounted_for,
                 eight_children_at_a_time_are_accounted_for])
