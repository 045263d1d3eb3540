#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The root leaves first; its children are followed to their ends."""
import fflive
from fflive import expect


def children_outlive_their_root(python):
    run = fflive.run([], [python, fflive.program("root_first.py"), 1.5])
    fflive.check_run(run, status=7, stdout=b"root leaves\n")
    expect(len(run.spans("survivor")) == 2 and len(run.pids()) == 3,
           "expected 3 processes: %s", run.stats["members"])
    run.check_span("survivor")
    last = max(span["end"] for span in run.spans("survivor"))
    expect(run.ended - last < .5, "the run ended %.2f s after the last process",
           run.ended - last)
    root = run.member(run.roles("root")[0])
    expect(root["status"] in (7 << 8, None), "wait status of the root: %s", root)
    expect("no child" not in run.stderr.lower(), "stderr: %s", run.stderr)


if __name__ == "__main__":
    fflive.main([children_outlive_their_root])
