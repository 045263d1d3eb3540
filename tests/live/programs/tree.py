# SPDX-License-Identifier: Apache-2.0
"""A tree that runs until it is killed, to attach to.

	tree.py

root (asleep in the main thread, busy in a second one)
- kid (busy)
- elder (forks a child of 50 ms every 200 ms)
  - grandchild (asleep and busy in turns)
"""
import os
import threading
import time

from truth import bound_to, burn, note


def root_sleeps():
    time.sleep(3600)


def root_thread():
    while True:
        burn(.01)
        time.sleep(.01)


def kid_work():
    while True:
        burn(.05)


def grandchild_work():
    while True:
        burn(.005)
        time.sleep(.02)


def late_work():
    burn(.05)
    os._exit(0)


def spawn(role, work):
    parent = os.getpid()
    if os.fork() == 0:
        bound_to(parent)
        note(role=role)
        work()


def elder():
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        bound_to(parent)
        note(role="grandchild")
        grandchild_work()
    while True:
        time.sleep(.2)
        late = os.fork()
        if late == 0:
            late_work()
        os.waitpid(late, 0)


spawn("kid", kid_work)
spawn("elder", elder)
thread = threading.Thread(target=root_thread)
thread.daemon = True
thread.start()
note(role="root")
root_sleeps()
