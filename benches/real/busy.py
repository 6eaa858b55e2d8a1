"""A background load: on each CPU, bursts of work that begin and end at random, 40 % of the time on average.

python3 busy.py SEED SECONDS; it ends by itself after so many seconds, and with the process that began it.
"""
import os
import random
import sys
import time

ON, OFF = 2.0, 3.0  # mean length of a burst and of a pause, s; both are exponential


def bursts(cpu, seed, end, parent):
    os.sched_setaffinity(0, {cpu})
    chance = random.Random(seed * 1000 + cpu)
    while time.monotonic() < end and os.getppid() == parent:
        stop = min(end, time.monotonic() + chance.expovariate(1 / ON))
        while time.monotonic() < stop and os.getppid() == parent:
            sum(range(10_000))
        time.sleep(min(chance.expovariate(1 / OFF), max(0.0, end - time.monotonic())))


def main():
    seed, seconds = int(sys.argv[1]), float(sys.argv[2])
    end, parent = time.monotonic() + seconds, os.getpid()
    children = []
    for cpu in sorted(os.sched_getaffinity(0)):
        child = os.fork()
        if child == 0:
            bursts(cpu, seed, end, parent)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


main()
