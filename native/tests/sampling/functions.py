"""Functions of Python with known shares of the work: 50, 30, 15 and 5%. Between them lie calls of
the interpreter in C: a generator, a key function, and a comparison that the C library's qsort
calls. A second thread computes beside them. Usage: functions.py STEPS
"""

import ctypes
import sys
import threading

Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
c_library = ctypes.CDLL(None)


def work(number):
    x = 88172645463325252
    for _ in range(number):
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
    return x


def half(number):
    return work(10 * number)


def third(number):
    return max((number, number, number), key=lambda one: work(2 * one))


def steps_of(number):
    for _ in range(3):
        yield work(number)


def seventh(number):
    return sum(steps_of(number))


def compare(_one, _other):
    work(compare.number)
    return 0


def ordered(number):
    """Two items are compared once."""
    compare.number = number
    items = (ctypes.c_int * 2)(1, 2)
    c_library.qsort(items, ctypes.c_size_t(2), ctypes.c_size_t(4), Compare(compare))


def beside(steps):
    for _ in range(steps):
        work(2000)


class Größe:
    def rechne(self, steps):
        for _ in range(steps):
            half(1000)
            third(1000)
            seventh(1000)
            ordered(1000)


steps = int(sys.argv[1])
thread = threading.Thread(target=beside, args=(2 * steps,))
thread.start()
Größe().rechne(steps)
thread.join()
print("done")
