# SPDX-License-Identifier: Apache-2.0
"""A web application with one view, which is busy for 0.1 s."""
import time


def view(environment, start_response):
    end = time.monotonic() + .1
    while time.monotonic() < end:
        sum(range(400))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]


application = view
