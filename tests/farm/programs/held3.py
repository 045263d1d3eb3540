# SPDX-License-Identifier: Apache-2.0
"""The points of held.py that Python 3 alone has; executed by it, with its names."""
import asyncio
import contextlib
import gc
import importlib.abc
import importlib.machinery
import os
import sys
import threading


def yield_from(point):
    def inner():
        yield from (x for x in [1])
        hold(point)
        yield

    def middle():
        yield from inner()

    class Klass:
        def outer(self):
            yield from \
                middle()

    list(Klass().outer())


def context_manager(point):
    @contextlib.contextmanager
    def manager():
        try:
            yield
        finally:
            hold(point)

    with manager(), \
            contextlib.ExitStack() as stack:
        stack.callback(
            lambda: hold(point))


class Pause:
    def __await__(self):
        return (yield self)


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def coroutine_chain(point):
    async def leaf():
        await Pause()
        hold(point)

    async def middle():
        x = [await leaf(),
             1]
        return x

    class Klass:
        async def outer(self):
            async with self as me:
                await middle()

        async def __aenter__(self):
            await Pause()

        async def __aexit__(self, *_):
            await Pause()
            hold(point)

    drive(Klass().outer())


def asynchronous_generator(point):
    async def numbers():
        try:
            yield 1
            await Pause()
            hold(point)
            yield 2
        finally:
            await Pause()

    async def outer():
        return [x async for x in numbers()
                if x
                and await nothing(x)]

    async def nothing(x):
        if x == 2:
            hold(point)
        return x

    drive(outer())


def event_loop(point):
    async def task(n):
        await asyncio.sleep(0)
        if n == 2:
            hold(point)
        return n

    async def outer():
        await asyncio.gather(*[
            task(n)
            for n in range(3)])
        asyncio.get_event_loop().call_soon(
            hold, point)
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(outer())
    loop.close()


def executor(point):
    import concurrent.futures

    def work(n):
        here_i_am()
        settle()
        hold(point)
        return n

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(work, 1).result()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "made_module":
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile("\n\nhold(point)", "<made module>", "exec"), vars(module))


def imported(point):
    import builtins
    builtins.hold, builtins.point = hold, point
    sys.meta_path.insert(0, Finder())
    import made_module
    del sys.modules["made_module"], builtins.hold, builtins.point
    del sys.meta_path[0], made_module


def metaclass(point):
    class Meta(type):
        def __new__(cls, name, bases, space):
            return super().__new__(cls, name, bases, space)

        def __call__(cls, *args):
            return super().__call__(*args)

        @classmethod
        def __prepare__(cls, *_):
            return {}

    class Base:
        def __init_subclass__(cls, **_):
            cls()

    class Klass(Base,
                metaclass=Meta):
        def __new__(cls):
            hold(point)
            return super().__new__(cls)

        def __set_name__(self, owner, name):
            pass


def collector(point):
    def callback(phase, info):
        if phase == "start":
            hold(point)

    gc.callbacks.append(callback)
    gc.collect()
    gc.callbacks.remove(callback)


def new_syntax(point):
    space = {"hold": hold, "point": point}
    if sys.version_info >= (3, 8):
        exec(compile("def walrus(a, /, b=1):\n  return (x :=\n    hold(point))\n"
                     "walrus(1)", "<3.8>", "exec"), space)
    if sys.version_info >= (3, 10):
        exec(compile("def match(a):\n  match a:\n    case [x, *y] if (\n"
                     "        hold(point)):\n      pass\nmatch([1])", "<3.10>",
                     "exec"), space)
    if sys.version_info >= (3, 11):
        exec(compile("def group():\n  try:\n    raise ExceptionGroup('', [KeyError()])\n"
                     "  except* KeyError as e:\n    hold(point)\ngroup()", "<3.11>",
                     "exec"), space)
    if sys.version_info >= (3, 12):
        exec(compile("def generic[T: int](a: T) -> T:\n  return hold(point)\n"
                     "class Klass[T]:\n  type X = hold(point)\n  x = X.__value__\n"
                     "generic(1)\nf'{hold(point)!r:>{3}}'", "<3.12>", "exec"), space)


def strange_names(point):
    space = {"hold": hold, "point": point}
    exec(compile("def \u00fcn\u0129code_\u4e2d():\n  hold(point)\n"
                 "\u00fcn\u0129code_\u4e2d()", "<names>", "exec"), space)
    if sys.version_info < (3, 8):
        return

    def inner():
        hold(point)

    def outer(function):
        function()

    function = inner
    for name in ("", "a;b\nc", "\U0001f40d" * 3, "x" * 5000, "\udcff", "\ud800",
                 " leading", "\x01\x7f"):
        words = {"co_name": name}
        if sys.version_info >= (3, 11):
            words["co_qualname"] = name
        inner.__code__ = inner.__code__.replace(**words)
        inner()


def generator_in_thread(point):
    """Begun by one thread, gone on with by another."""
    def generator():
        yield 1
        hold(point)

    def body():
        here_i_am()
        settle()
        list(gen)

    gen = generator()
    next(gen)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


# Runs in another interpreter. What it says are its own frames, and then those of
# whoever called it, which he has left in the environment.
INSIDE = """
import binascii, json, os, sys

def told(frame):
    words = lambda text: binascii.hexlify(text.encode()).decode()
    truth = json.loads(os.environ["HELD_TRUTH"])
    frames = []
    while frame:
        code = frame.f_code
        frames.append([words(code.co_qualname), words(code.co_filename),
                       frame.f_lineno or 0])
        frame = frame.f_back
    truth["threads"][str(truth["tid"])][:0] = frames
    return json.dumps(truth)

def hold_inside():
    os.write(1, told(sys._getframe()).encode() + b"\\n"), os.read(0, 1)

def nest():
    import _interpreters
    os.environ["HELD_NEST"] = "0"
    inside, one = os.environ["HELD_INSIDE"], []
    # One line: each interpreter has an environment as of its birth.
    tell(sys._getframe()), one.append(_interpreters.create()), _interpreters.exec(one[0], inside)
    _interpreters.destroy(one[0])

def tell(frame):
    os.environ["HELD_TRUTH"] = told(frame)

nest() if os.environ["HELD_NEST"] == "1" else hold_inside()
"""


def in_other_interpreters(point):
    """From 3.13 on, when a thread state belongs to the thread that runs it. In another
    interpreter of PyInstaller's there is nothing to import."""
    if sys.version_info < (3, 13) or hasattr(sys, "frozen"):
        return
    import _interpreters

    def tell(frame):
        os.environ["HELD_TRUTH"] = truth_of(point, frame)

    def enter(nest):
        os.environ["HELD_NEST"] = nest
        one = []
        tell(sys._getframe()), one.append(create()), one.append(execute(one[0], INSIDE))
        _interpreters.destroy(one[0])
        assert one[1] is None, one[1]

    def body():
        here_i_am()
        settle()
        enter("0")

    create, execute = _interpreters.create, _interpreters.exec
    os.environ["HELD_INSIDE"] = INSIDE
    enter("0")
    enter("1")
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


run([yield_from, context_manager, coroutine_chain, asynchronous_generator,
     event_loop, executor, imported, metaclass, collector, new_syntax,
     strange_names, generator_in_thread, in_other_interpreters])
