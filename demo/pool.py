#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight workers that are kept busy for five seconds, to be looked at.

usage: pool.py [SECONDS [WORKERS]]
"""
import multiprocessing
import os
import sys
import time


def sieve(limit):
    """How many primes are there below the limit?"""
    is_prime = bytearray([1]) * limit
    is_prime[0:2] = b"\0\0"
    for n in range(2, int(limit ** 0.5) + 1):
        if is_prime[n]:
            for multiple in range(n * n, limit, n):
                is_prime[multiple] = 0
    return sum(is_prime)


def safe(queens, row, column):
    for other_row, other in enumerate(queens):
        if other == column or abs(other - column) == row - other_row:
            return False
    return True


def place_queens(size, queens=()):
    """In how many ways can so many queens stand on a chess board?"""
    row = len(queens)
    if row == size:
        return 1
    ways = 0
    for column in range(size):
        if safe(queens, row, column):
            ways += place_queens(size, queens + (column,))
    return ways


def escape_time(c, most):
    z = 0j
    for step in range(most):
        if abs(z) > 2:
            return step
        z = z * z + c
    return most


def mandelbrot(width):
    """One picture of the Mandelbrot set; returns its area in pixels."""
    inside = 0
    for y in range(width // 2):
        for x in range(width):
            c = complex(3 * x / width - 2.2, 3 * y / width - 0.75)
            if escape_time(c, 40) == 40:
                inside += 1
    return inside


def count_words(times):
    """The commonest word of this file's own documentation."""
    counts = {}
    for _ in range(times):
        for function in (sieve, place_queens, mandelbrot, count_words):
            for word in function.__doc__.lower().split():
                counts[word] = counts.get(word, 0) + 1
    return max(counts.values())


JOBS = ((sieve, 400000), (place_queens, 9), (mandelbrot, 150), (count_words, 1500))


def work(number):
    function, size = JOBS[number % len(JOBS)]
    return function.__name__, function(size), os.getpid()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    begin = time.monotonic()
    done = 0
    shown = 0
    with multiprocessing.Pool(workers) as pool:
        while time.monotonic() - begin < seconds:
            results = pool.map(work, range(done, done + 4 * workers), 1)
            done += len(results)
            passed = time.monotonic() - begin
            if passed >= shown:
                busy = len({pid for _, _, pid in results})
                print("%4.1f s: %d jobs done, %d workers busy"
                      % (passed, done, busy), flush=True)
                shown = int(passed) + 1
        pool.close()
        pool.join()
    print("%d jobs in %.1f s" % (done, time.monotonic() - begin))


if __name__ == "__main__":
    main()
