"""Parts of a program that each spend their time in one known way."""

import time

import numpy as np

NUMBERS = np.random.default_rng(3).random(400_000)
SHUFFLED = NUMBERS[:200_000].tolist()


def one_more(number):
    return number + 1


def counted(most):
    number = 0
    while number < most:
        yield number
        number += 1


def calls():
    for number in range(600_000):
        one_more(number)


def loop():
    total = 0
    for number in range(1_200_000):
        total += number % 7


def sorts():
    for _ in range(2):
        sorted(SHUFFLED)


def ufunc():
    for _ in range(10):
        np.sin(NUMBERS)


def sleeps():
    for _ in range(6):
        time.sleep(0.01)


def generator():
    for _ in counted(500_000):
        pass


def builtins():
    for _ in range(4):
        sum(map(abs, SHUFFLED))
        "".join(map(str, range(50_000)))


PARTS = {part.__name__: part for part in (calls, loop, sorts, ufunc, sleeps, generator, builtins)}
