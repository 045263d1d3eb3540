# SPDX-License-Identifier: Apache-2.0
"""held.py: a program that says what its stacks are, and stands still. For Python
2.7 as for 3.

At each point it writes a line of JSON: the point's name, and for each of its
threads, by the kernel's number, the frames as the interpreter itself tells them
(names, files, lines), innermost first. Then it waits for a byte on its standard
input, in the line in which it has just said that it is. Names and files are in
hexadecimal: they need not be text.
"""
import atexit
import binascii
import functools
import gc
import json
import os
import re
import signal
import sys
import threading
import time
import weakref

try:
    from _thread import get_ident, start_new_thread
except ImportError:
    from thread import get_ident, start_new_thread

HERE = os.path.dirname(os.path.abspath(__file__))
OLD = sys.version_info[0] < 3

tids = {}  # of threads, by what the interpreter calls them
known = {}  # their frames, where the interpreter cannot be asked
skip = set(os.environ.get("HELD_SKIP", "").split(","))


def here_i_am():
    """The kernel's number of this thread, in every version."""
    tids[get_ident()] = int(os.readlink("/proc/thread-self").split("/")[-1])


def raw(text):
    if isinstance(text, bytes):
        return text
    out = b""
    for c in text:
        code = ord(c)
        if 0xdc80 <= code <= 0xdcff:  # an undecodable byte stands for itself
            out += bytes(bytearray([code - 0xdc00]))
        elif 0xd800 <= code <= 0xdfff:
            out += b"\xef\xbf\xbd"
        else:
            out += c.encode("utf-8")
    return out


def words(text):
    return binascii.hexlify(raw(text)).decode()


def stack(frame):
    frames = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append([words(name), words(code.co_filename), frame.f_lineno or 0])
        frame = frame.f_back
    return frames


def truth_of(point, frame):
    """@frame is this thread's innermost that is told."""
    here = get_ident()
    threads = {}
    for ident, top in (known or sys._current_frames()).items():
        if ident in tids:
            threads[tids[ident]] = stack(frame if ident == here else top)
    return json.dumps({"point": point, "pid": os.getpid(), "tid": tids[here],
                       "threads": threads})


def note(point, frame):
    os.write(1, truth_of(point, frame).encode() + b"\n")


def hold(point):
    return note(point, sys._getframe()), os.read(0, 1), None


def held(point):
    """A function of any arguments that holds, and returns 0."""
    def hold_in(*args, **named):
        hold(point)
        return 0
    return hold_in


def tasks():
    """The threads that there are, as the kernel has them."""
    return [int(tid) for tid in os.listdir("/proc/self/task")]


def await_end(tid):
    while tid in tasks():
        time.sleep(.001)


def join(self, *timeout):
    """Until the interpreter has forgotten it, too: in 2.7 a thread that was joined
    still has to take the lock once more, and is listed until then."""
    _join(self, *timeout)
    await_end(tids.get(self.ident))


_join, threading.Thread.join = threading.Thread.join, join


def settle():
    """Until all other threads have come to where they wait."""
    quiet = 0
    while quiet < 3:
        time.sleep(.01)
        quiet = quiet + 1 if all_asleep() else 0


def all_asleep():
    own = os.readlink("/proc/thread-self").split("/")[-1]
    for tid in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/stat" % tid) as stat:
                state = stat.read().rpartition(") ")[2][:1]
        except (IOError, OSError):
            continue
        if tid != own and state != "S":
            return False
    return True


def name_of(function):
    return function.__name__.replace("_", " ")


def run(points):
    for point in points:
        if name_of(point) not in skip:
            point(name_of(point))


# Threads that rest, each its own way, all of the time.

_never = threading.Lock()
_never.acquire()


def rest_in_generator():
    yield 1
    _never.acquire()
    yield 2


def rest_deep(n):
    if n:
        return rest_deep(n - 1) + 1
    time.sleep(
        10000)
    return 0


def rest_all():
    bodies = [lambda: _never.acquire(),
              lambda: [one for one in rest_in_generator()],
              lambda: rest_deep(40),
              functools.partial(sorted, [2, 1], key=lambda one: _never.acquire())]

    def body(function):
        here_i_am()
        function()

    for function in bodies:
        thread = threading.Thread(target=body, args=(function,))
        thread.daemon = True
        thread.start()
    while len(tids) < 1 + len(bodies):
        time.sleep(.01)
    settle()


# Calls

def plain_calls(point):
    def inner(a, b=1, *c, **d):
        return hold(point)

    class Klass(object):
        def method(self):
            return inner(
                1,
                *[2, 3],
                **{"e":
                   4})

        @classmethod
        def of_class(cls):
            return cls().method()

        @staticmethod
        def static():
            return Klass.of_class()

    (lambda:
     (lambda x: Klass.static())(
         1))()


def decorated(point):
    def decorator(*_):
        def wrap(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper
        return wrap

    @decorator(1,
               2)
    @decorator()
    def function(a):
        hold(point)

    function(1)


def decorator_is_applied(point):
    def decorator(function):
        hold(point)
        return function

    @functools.partial(
        lambda n, function: function, 1)
    @decorator

    def function():
        pass


def class_body(point):
    class Outer(object):
        x = 1

        class Inner(object):
            y = hold(
                point)


def default_is_evaluated(point):
    def function(
            a=1,
            b=hold(point),
            c=2):
        pass


def initialised(point):
    class Klass(object):
        def __init__(self, n):
            self.n = n
            if n == 3000:
                hold(point)

    def make(n):
        return Klass(n)

    for n in range(3001):
        make(n)


def hot_functions(point):
    """Long enough for every specialisation, and for a JIT."""
    def leaf(n):
        if n == 20000:
            hold(point)
        return n

    def caller(n):
        total = 0
        for i in (n,):
            total += leaf(i)
        return total

    for n in range(20001):
        caller(n)


def hot_in_threads(point):
    """Threads of a free-threaded build have bytecode of their own."""
    def leaf(n, lock):
        if n == 5000:
            if lock:
                arrived.append(lock)
                lock.acquire()
            else:
                settle()
                hold(point)

    def caller(n, lock):
        return leaf(n, lock)

    def body(lock):
        here_i_am()
        for n in range(5001):
            caller(n, lock)

    arrived = []
    threads = []
    for _ in range(3):
        lock = threading.Lock()
        lock.acquire()
        threads.append(threading.Thread(target=body, args=(lock,)))
    for thread in threads:
        thread.start()
    while len(arrived) < 3:
        time.sleep(.01)
    threads.append(threading.Thread(target=body, args=(None,)))
    threads[-1].start()
    threads[-1].join()
    for lock in arrived:
        lock.release()
    for thread in threads:
        thread.join()


def deep_recursion(point):
    def down(n):
        if n:
            return (
                down(n - 1) +
                1)
        hold(point)
        return 0

    def body():
        here_i_am()
        settle()
        down(12000)

    sys.setrecursionlimit(30000)
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=body)
    thread.start()
    threading.stack_size(0)
    thread.join()
    sys.setrecursionlimit(1000)


def recursion_through_c(point):
    def down(n):
        if not n:
            return hold(point)
        return sorted([1], key=lambda one: list(map(down, [n - 1])))

    down(30)


# Generators

def in_generator(point):
    def inner():
        yield 1
        hold(point)
        yield 2

    def outer():
        for one in inner():
            yield one

    for _ in outer():
        pass


def generator_is_sent_to(point):
    def generator():
        while True:
            got = yield
            if got:
                hold(point)

    gen = generator()
    next(gen)
    gen.send(0)
    gen.send(1)


def generator_is_closed(point):
    def generator():
        try:
            yield 1
        finally:
            hold(point)

    gen = generator()
    next(gen)
    gen.close()


def generator_is_thrown_into(point):
    def generator():
        try:
            yield 1
        except ValueError:
            hold(point)
            yield 2

    gen = generator()
    next(gen)
    gen.throw(ValueError())


def generator_expression(point):
    def function(n):
        return n if n < 2 else hold(point)

    sum(len(str(
        function(n)))
        for n in range(3)
        if n)


def comprehensions(point):
    [{k: [hold(point)
          for _ in (1,)]
      for k in
      {1}}
     for _ in range(1)]


# Written in C, and calls back

def c_calls_back(point):
    class Klass(object):
        def __getattr__(self, name):
            return hold(point)

        def __len__(self):
            return self.none and 0 or 0

        def __hash__(self):
            return len(self)

        def __eq__(self, other):
            return {}.get(self, False) or True

        def __iter__(self):
            return iter([Klass() == 1])

        def __call__(self, *args):
            return "".join([str(x) for x in self])

        def __missing__(self, key):
            return 1

    class Missing(dict):
        def __missing__(self, key):
            return re.sub("a", Klass(), "a")

    functools.reduce(lambda a, b: a + Missing()[b], [1],
                     "") if not OLD else Missing()[1]


def property_and_descriptor(point):
    class Descriptor(object):
        def __get__(self, instance, owner):
            return hold(point)

    class Klass(object):
        inner = Descriptor()

        @property
        def outer(self):
            return max([1], key=lambda one:
                       self.inner and one)

    getattr(Klass(), "outer")


def with_statement(point):
    class Manager(object):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            hold(point)

    with Manager() as a, \
            Manager() as b:
        pass


def handlers(point):
    try:
        try:
            raise KeyError(
                1)
        except (ValueError,
                KeyError):
            raise RuntimeError()
        finally:
            hold(point)
    except RuntimeError:
        hold(point)


def destructor(point):
    class Klass(object):
        def __del__(self):
            hold(point)

    one = Klass()
    del one


def garbage(point):
    class Klass(object):
        pass

    one = Klass()
    one.self = one
    one.ref = 1
    ref = weakref.ref(one, held(point))
    del one
    gc.collect()
    return ref


def signal_handler(point):
    def handler(number, frame):
        hold(point)

    signal.signal(signal.SIGUSR1, handler)
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(1000):
        pass
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)


def traced(point):
    def tracer(frame, event, arg):
        if frame.f_code.co_name == "function" and event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == 3:
                hold(point)
        return tracer

    def function():
        a = 1
        b = [
            a]
        c = (a,
             b)
        return c

    lines = []
    sys.settrace(tracer)
    function()
    sys.settrace(None)


def profiled(point):
    def profiler(frame, event, arg):
        if event == "c_call" and arg is len and not done:
            done.append(1)
            hold(point)

    def function():
        return len(
            "abc")

    done = []
    sys.setprofile(profiler)
    function()
    sys.setprofile(None)


def ctypes_callback(point):
    try:
        import ctypes
        libc = ctypes.CDLL(None)
        libc.qsort
    except Exception:
        return
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    once = []

    @compare
    def order(a, b):
        if not once:
            once.append(hold(point))
        return 0

    libc.qsort((ctypes.c_int * 2)(2, 1), 2, 4, order)


# Made of strings

def executed_string(point):
    space = {"hold": hold, "point": point}
    exec(compile("\n\ndef made():\n"
                 "    x = [1,\n         hold(point)]\n"
                 "class Made(object):\n    made()\n",
                 "<made of a string>", "exec"), space)


def evaluated_string(point):
    eval("(lambda: \n hold(point))()", {"hold": hold, "point": point})


def far_lines(point):
    exec(compile("\n" * 70000 + "def far():\n\n\n  hold(point)\nfar()\n", "<far>",
                 "exec"), {"hold": hold, "point": point})


def wide_line(point):
    space = {"hold": hold, "point": point, "a": 1}
    exec(compile("def wide():\n  x = (%s,\n%shold(point))\n  return x\nwide()\n" %
                 (" + ".join(["a"] * 600), "\n" * 300), "<wide>", "exec"), space)


def long_table(point):
    space = {"hold": hold, "point": point}
    exec(compile("def long():\n" + "  x = 1\n\n" * 9000 + "  hold(point)\n" +
                 "  x = 2\n" * 9 + "long()\n", "<long>", "exec"), space)


def strange_files(point):
    files = ["", "/with space/\xe9.py" if OLD else u"/\xe9.py", "/a;b:c(d)\n.py",
             "/" + "long/" * 300 + "x.py"]
    if OLD:
        files += ["/\xff\xfe.py"]
    else:
        files += [u"/\u4e2d\u6587.py", u"/\U0001f40d.py", u"/\udcff\udc80.py"]

    def call(files):
        if not files:
            return hold(point)
        exec(compile("def inner():\n  call(files)\ninner()", files[0], "exec"),
             {"call": call, "files": files[1:]})

    call(files)


# The process

def forked(point):
    pid = os.fork()
    if not pid:
        tids.clear()
        here_i_am()
        hold(point)
        os._exit(0)
    os.waitpid(pid, 0)


def forked_by_a_thread(point):
    """And the child forks in its turn."""
    def child(generations):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            return
        tids.clear()
        here_i_am()
        hold(point)
        if generations:
            child(generations - 1)
        os._exit(0)

    def body():
        here_i_am()
        settle()
        child(1)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def new_threads(point):
    def body():
        here_i_am()
        settle()
        hold(point)

    for _ in range(3):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()


def ended_unheard(point):
    """Threads that C code ends: the interpreter has them for ever, frames and all.
    The next one gets its stack, and with that its ident; so does one of C code."""
    try:
        import ctypes
        libc = ctypes.CDLL(None)
        end = libc.pthread_exit
    except Exception:
        return

    def inner():
        end(None)

    def ends():
        here_i_am()
        begun.append(tids[get_ident()])
        inner()

    def follows():
        here_i_am()
        begun.append(tids[get_ident()])
        known[get_ident()] = None
        settle()
        hold(point)
        del known[get_ident()]
        done.release()

    pid = os.fork()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0
        return
    tids.clear()
    here_i_am()
    # 3.11 and 3.12 would look for frames on the stack of one that ended.
    known[get_ident()] = sys._getframe()
    begun, done = [], threading.Lock()
    done.acquire()
    for i in range(0, 6, 2):
        start_new_thread(ends, ())
        while len(begun) == i:
            time.sleep(.001)
        await_end(begun[i])
        hold(point)
        start_new_thread(follows, ())
        done.acquire()
        await_end(begun[i + 1])
        hold(point)
    if sys.version_info >= (3, 11):  # that know the kernel's numbers
        libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None)
        while len(tasks()) < 2:
            time.sleep(.001)
        hold(point)
    os._exit(0)


COMMON = [plain_calls, decorated, decorator_is_applied, class_body,
          default_is_evaluated, initialised, hot_functions, hot_in_threads,
          deep_recursion, recursion_through_c, in_generator, generator_is_sent_to,
          generator_is_closed, generator_is_thrown_into, generator_expression,
          comprehensions, c_calls_back, property_and_descriptor, with_statement,
          handlers, destructor, garbage, signal_handler, traced, profiled,
          ctypes_callback, executed_string, evaluated_string, far_lines,
          wide_line, long_table, strange_files, new_threads, forked,
          forked_by_a_thread, ended_unheard]


def main():
    here_i_am()
    rest_all()
    run(COMMON)
    if not OLD:
        path = os.path.join(HERE, "held3.py")
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec")
        space = {"hold": hold, "held": held, "run": run, "settle": settle, "truth_of": truth_of,
                 "here_i_am": here_i_am}
        exec(code, space)
    os.write(1, b"end\n")


atexit.register(held("at exit"))
if __name__ == "__main__":
    main()
