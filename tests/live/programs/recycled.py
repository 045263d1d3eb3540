# SPDX-License-Identifier: Apache-2.0
"""A web application for a server that replaces its workers, and at the same time
its configuration for gunicorn. What is answered is the worker's pid."""
import os

from truth import burn_cpu, note, timed

# gunicorn reads these names from here.
workers = 2
loglevel = "error"
worker_tmp_dir = "/tmp"


def on_starting(server):
    note(role="master")


def post_fork(server, worker):
    note(role="worker")


def view():
    burn_cpu(.02)


def application(environ, start_response):
    timed(view)
    body = b"%d" % os.getpid()
    start_response("200 OK", [("Content-Type", "text/plain"),
                              ("Content-Length", str(len(body)))])
    return [body]
