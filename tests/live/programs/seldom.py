# SPDX-License-Identifier: Apache-2.0
"""Sleeps for a second and works for a moment, five times, each in its own function."""
import time

from truth import burn_cpu, timed


def burst_a(): burn_cpu(.06)
def burst_b(): burn_cpu(.06)
def burst_c(): burn_cpu(.06)
def burst_d(): burn_cpu(.06)
def burst_e(): burn_cpu(.06)


for burst in (burst_a, burst_b, burst_c, burst_d, burst_e):
    time.sleep(1)
    timed(burst)
