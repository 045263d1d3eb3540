# SPDX-License-Identifier: Apache-2.0
"""Read austin's binary format, MOJO version 3.

After "MOJ" and the version come events: a byte for the kind, then its fields. A text
ends in a zero byte. A number has 6 bits in its first byte, with 0x40 for its sign,
and 7 in each that follows, the low ones first; 0x80: another byte follows.
"""
METADATA, STACK, FRAME, INVALID_FRAME, SAME_FRAME = 1, 2, 3, 4, 5
TIME, STRING = 9, 11

# t: a text, n: a number. 6 is a kernel's frame, 7 and 8 mark a collection of garbage
# and an idle thread, 10 is memory, 12 a text that is known.
FIELDS = {METADATA: "tt", STACK: "nnt", FRAME: "nnnnnnn", INVALID_FRAME: "",
          SAME_FRAME: "n", 6: "t", 7: "", 8: "", TIME: "n", 10: "n", STRING: "nt",
          12: "n"}


class Bytes:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def n(self):
        byte = self.data[self.at]
        value, shift, sign = byte & 0x3f, 6, -1 if byte & 0x40 else 1
        while byte & 0x80:
            self.at += 1
            byte = self.data[self.at]
            value |= (byte & 0x7f) << shift
            shift += 7
        self.at += 1
        return sign * value

    def t(self):
        end = self.data.index(0, self.at)
        text = self.data[self.at:end].decode(errors="replace")
        self.at = end + 1
        return text


def events(data):
    """(kind, fields) of each whole event; the last may be cut off by a signal."""
    stream = Bytes(data, 4)
    while stream.at < len(data):
        kind = data[stream.at]
        stream.at += 1
        if kind not in FIELDS:
            raise ValueError("MOJO event %d is not known" % kind)
        try:
            fields = [getattr(stream, field)() for field in FIELDS[kind]]
        except (IndexError, ValueError):
            return
        yield kind, fields


def read_mojo(data, invalid):
    """The samples (pid, names, microseconds), and what else the file says."""
    if data[:4] != b"MOJ\3":
        raise ValueError("no MOJO of version 3")
    facts, texts, frames, samples = {}, {}, {}, []
    pid, names, microseconds = None, [], 0
    for kind, fields in events(data):
        if kind == METADATA:
            facts[fields[0]] = fields[1]
        elif kind == STRING:
            texts[pid, fields[0]] = fields[1]
        elif kind == FRAME:
            frames[pid, fields[0]] = texts.get((pid, fields[2]), "?")
        elif kind == STACK:
            if pid is not None:
                samples.append((pid, names, microseconds))
            pid, names, microseconds = fields[0], [], 0
        elif kind == SAME_FRAME:
            names.append(frames.get((pid, fields[0]), "?"))
        elif kind == INVALID_FRAME:
            names.append(invalid)
        elif kind == TIME:
            microseconds = fields[0]
    if pid is not None:
        samples.append((pid, names, microseconds))
    return samples, facts
