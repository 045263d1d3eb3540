#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How running threads are read when nobody says how (--sampler=auto): by the kernel at
high rates, where it may be had, by stops else, and nobody waits for it."""
import os
import shutil

import fflive
import live_kernel
from fflive import expect

AUTO = "--sampler=auto"
ENDLESS = "while True: sum(range(400))"
BUSY = "import time\nwhile time.process_time() < 1.5: sum(range(400))"


def run(args, **how):
    seen = fflive.run([AUTO] + args, [fflive.newest(), "-c", BUSY], **how)
    return fflive.check_run(seen)


def check_stops(seen, reason):
    expect(seen.stats["sampler"] == "stop" and
           reason in seen.stats["sampler_reason"], "sampler: %s, %s",
           seen.stats["sampler"], seen.stats["sampler_reason"])
    expect(seen.stats["samples"]["kernel"] == 0, "samples: %s", seen.stats["samples"])


def low_rates_are_read_by_stops():
    check_stops(run(["-r", 400]), "less than 500")


def high_rates_are_read_by_the_kernel():
    live_kernel.need_kernel()
    for rate in (500, 5000):
        live_kernel.check_kernel(run(["-r", rate]), .9)


def who_is_attached_to_does_not_wait():
    """The first samples come by stops, the others by the kernel, and all of it adds up."""
    live_kernel.need_kernel()
    with fflive.Target([fflive.newest(), "-c", ENDLESS], notes=0) as target:
        seen = fflive.run([AUTO, "-r", 1000, "-p", target.pid, "-d", 2], None)
        short = fflive.run([AUTO, "-r", 1000, "-p", target.pid, "-d", ".004"], None)
    for one in (seen, short):
        fflive.check_run(one)
    samples = seen.stats["samples"]
    live_kernel.check_kernel(seen, .5)
    print("  note: %s" % samples)
    expect(samples["stopped"] + samples["unstopped"] > 0, "samples: %s", samples)
    expect(samples["kernel"] > samples["stopped"], "samples: %s", samples)
    # It ends before the program is there, and does not wait for it to sample.
    check_stops(short, "not there in time")


def nobody_is_stopped_when_that_was_said():
    check_stops(run(["-r", 1000, "--nonblocking"]), "--nonblocking")


def run_counts_go_with_stops():
    check_stops(run(["-r", 1000, "--oncpu=runcounts"]), "no switch records")


def what_is_refused_is_done_by_stops():
    if not shutil.which("setpriv") or os.geteuid() != 0:
        raise fflive.Skip("setpriv as root")
    seen = run(["-r", 1000], under=["setpriv", "--bounding-set=-bpf,-sys_admin"])
    check_stops(seen, "frames from the kernel" if seen.stats["oncpu"] == "switches"
                else "no switch records")


if __name__ == "__main__":
    fflive.main([], [low_rates_are_read_by_stops, high_rates_are_read_by_the_kernel,
                     who_is_attached_to_does_not_wait,
                     nobody_is_stopped_when_that_was_said, run_counts_go_with_stops,
                     what_is_refused_is_done_by_stops])
