# SPDX-License-Identifier: Apache-2.0
"""A web application for uWSGI and mod_wsgi, mounted at /a and at /b, in an
interpreter each."""
import os

from truth import burn_cpu, timed


def view_a():
    burn_cpu(.02)


def view_b():
    burn_cpu(.02)


def application(environ, start_response):
    timed(view_a if environ["SCRIPT_NAME"] == "/a" else view_b)
    body = b"%d" % os.getpid()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
