#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clock.py HZ: a clock of the kernel's on each CPU, by perf_event_open, that nobody
looks at; until SIGINT. What frames from the kernel cost at the very least."""
import ctypes
import os
import signal
import struct
import sys

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
SOFTWARE, CPU_CLOCK, SAMPLE_IP = 1, 0, 1
CLOEXEC = 8


def open_clock(cpu, period_ns):
    attr = struct.pack("IIQQQQ", SOFTWARE, 112, CPU_CLOCK, period_ns, SAMPLE_IP, 0)
    attr = ctypes.create_string_buffer(attr, 112)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(PERF_EVENT_OPEN[os.uname().machine], attr, -1, cpu, -1, CLOEXEC)
    if fd < 0:
        sys.exit("clock.py: perf_event_open: %s" % os.strerror(ctypes.get_errno()))
    return fd


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    for cpu in range(os.cpu_count()):
        open_clock(cpu, round(1e9 / float(sys.argv[1])))
    signal.sigwait([signal.SIGINT])


if __name__ == "__main__":
    main()
