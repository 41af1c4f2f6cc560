"""A program for profilers: recursion, a callback, loops in two threads, sleep, a generator."""

import _thread
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def loop(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        total += sum(range(100))
    return total


def squares(n):
    for number in range(n):
        yield number * number


def main():
    fib(12)
    loop(0.2)
    sorted(range(200), key=lambda number: -number)
    sum(squares(50))
    time.sleep(0.05)


if __name__ == "__main__":
    _thread.start_new_thread(loop, (0.1,))
    main()
