# SPDX-License-Identifier: Apache-2.0
"""Threads that wait, each for something else, until the parent has seen enough.

A thread is named after what it waits for, and so is its function.
"""
import os
import select
import socket
import sys
import threading
import time

import truth

lock = threading.Lock()
lock.acquire()
read_end, write_end = os.pipe()
left, right = socket.socketpair()
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60


def on_lock():
    lock.acquire()


def on_pipe():
    os.read(read_end, 1)


def on_socket():
    left.recv(1)


def on_poll():
    select.select([read_end, left], [], [], seconds)


def on_time():
    time.sleep(seconds)


def on_process():
    os.waitpid(child, 0)


child = os.fork()
if child == 0:
    time.sleep(seconds)
    os._exit(0)
for wait in (on_lock, on_pipe, on_socket, on_poll, on_time, on_process):
    thread = threading.Thread(target=wait, name=wait.__name__)
    thread.daemon = True
    thread.start()
time.sleep(.2)
truth.note(role="waits", child=child)
time.sleep(seconds)
