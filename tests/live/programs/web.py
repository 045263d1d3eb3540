# SPDX-License-Identifier: Apache-2.0
"""A small web application, for gunicorn. Each answer says which worker gave it,
and for how many seconds of CPU time it was in the view."""
import os
import time

from truth import burn


def view():
    begin = time.thread_time()
    burn(.01)
    return "%d %.6f" % (os.getpid(), time.thread_time() - begin)


def application(environ, start_response):
    body = view().encode()
    start_response("200 OK", [("Content-Type", "text/plain"),
                              ("Content-Length", str(len(body)))])
    return [body]
