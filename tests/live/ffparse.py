# SPDX-License-Identifier: Apache-2.0
"""Reading what forkflame wrote: collapsed stacks.

	PID: COMMAND LINE;FILE:FUNCTION:LINE;... WEIGHT

The first frame is `COMMAND LINE` alone for a role, `all` for all; frames without
a line are FILE:FUNCTION, those that are no code are one name.
"""
import collections
import re

Frame = collections.namedtuple("Frame", "file function line")
Stack = collections.namedtuple("Stack", "pid command frames weight")


class Failure(Exception):
    """What was expected was not seen."""


def expect(condition, message, *args):
    if not condition:
        raise Failure(message % args if args else message)


def unescape(text):
    """Turn \\xHH, \\uHHHH, \\n, \\t and \\\\ back."""
    named = {"n": b"\n", "t": b"\t", "\\": b"\\"}

    def turn(match):
        word = match.group(1).decode()
        if word[0] == "x":
            return bytes([int(word[1:], 16)])
        if word[0] == "u":
            return chr(int(word[1:], 16)).encode()
        return named[word]

    raw = text.encode("utf-8", "surrogateescape")
    raw = re.sub(br"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|n|t|\\)", turn, raw)
    return raw.decode("utf-8", "surrogateescape")


def parse_frame(text):
    rest, _, line = text.rpartition(":")
    if not re.match(r"-?\d+$", line):
        rest, line = text, 0
    file, _, function = rest.rpartition(":")
    return Frame(unescape(file), unescape(function), int(line))


def parse_line(line):
    stack, _, weight = line.rpartition(" ")
    process, *frames = stack.split(";")
    match = re.match(r"(?:(\d+)(?: \(\d+\))?: )?(.*)$", process, re.DOTALL)
    expect(match and weight.isdigit(), "not a collapsed stack: %r", line)
    return Stack(int(match.group(1) or 0), unescape(match.group(2)),
                 [parse_frame(frame) for frame in frames], int(weight))


def parse_collapsed(text):
    return [parse_line(line) for line in text.split("\n") if line]


def read_text(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def short_name(function):
    """3.11 and newer have qualified names: `main.<locals>.work`."""
    return function.rpartition(".")[2]


def names(stack):
    return [short_name(frame.function) for frame in stack.frames]
