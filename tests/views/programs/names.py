# SPDX-License-Identifier: Apache-2.0
"""names.py SECONDS: functions whose names hold what separates or marks up
something somewhere. Each works for so long, called by <module>."""
import sys
import time

# Function and file.
ODD = [
    ("semi;colon", "dir;x/semi;colon.py"),
    ("co:lon:7", "C:/co:lon:12.py"),
    ("</script><b a=\"1\">&amp;'", "<script>&lt;\"'.py"),
    ("]]> --> %s {} $(x) `y`", "/a/]]>.py"),
    ("new\nline\ttab\r", "new\nline.py"),
    ("ends with a number 42", "/a/count 17"),
    (" blank first", "/a/ b  c.py "),
    ("back\\slash\\n\\x3b", "/a/back\\slash.py"),
    ("(1) fn=(2) cfn=(3)", "/a/(9) fl=.py"),
    ("\x01\x1b[31m\x7f", "/a/\x1b]0;x\x07.py"),
    ("na\u00efve\u202e\U0001f525", "/a/\u00fc.py"),
    ("n" * 3000, "/" + "x" * 5000 + ".py"),
    ("no_file", ""),
    ("<lambda>", "<string>"),
]
FAR = 100000  # the line of the last one


def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(400))


def make(name, file):
    def call(seconds):
        burn(seconds)
    names = {"co_name": name, "co_filename": file}
    if hasattr(call.__code__, "co_qualname"):
        names["co_qualname"] = name
    call.__code__ = call.__code__.replace(**names)
    return call


def main():
    seconds = float(sys.argv[1])
    for name, file in ODD:
        make(name, file)(seconds)
    space = {"burn": burn, "seconds": seconds}
    exec(compile("\n" * (FAR - 1) + "def far(): burn(seconds)\nfar()",
                 "far.py", "exec"), space)


if __name__ == "__main__":
    main()
