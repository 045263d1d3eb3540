# SPDX-License-Identifier: Apache-2.0
"""Copies its input to its output and, backwards, to its error output."""
import sys

data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data)
sys.stdout.buffer.flush()
sys.stderr.buffer.write(data[::-1])
sys.stderr.buffer.flush()
