"""What the test runners share: processes with time limits, and the counts for the summary of `make test`."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# How long the rest of a process group may take to end, before it is killed.
GRACE_S = 10


def exit_on_term():
    """Turns SIGTERM into an exit that runs `finally`, so that no test process stays behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def run_limited(command, *, limit_s, on_line, on_tick=None, quiet_limit_s=None, cwd=None, env=None, stderr=None):
    """Runs a command in a process group of its own and passes each line of its output to `on_line`.

    The group is ended after `limit_s`, or when `quiet_limit_s` have passed since `on_line` last returned true.
    `on_tick` is called twice a second. `stderr` is a file; without one it is part of the output. Returns the exit code
    and why the command was ended, or None if it ended by itself.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr or subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    began = last = time.monotonic()

    def read():
        nonlocal last
        for line in process.stdout:
            if on_line(line.rstrip("\n")):
                last = time.monotonic()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reason = None
    try:
        while reason is None:
            try:
                process.wait(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                if on_tick:
                    on_tick()
                now = time.monotonic()
                if now - began > limit_s:
                    reason = f"the time limit of {limit_s:g} s"
                elif quiet_limit_s is not None and now - last > quiet_limit_s:
                    reason = f"no progress for {quiet_limit_s:g} s"
    finally:
        end_group(process, is_asked=reason is not None or process.poll() is None)
    reader.join(timeout=GRACE_S)
    process.stdout.close()
    return process.returncode, reason


def end_group(process, is_asked):
    """Ends a process with its group. What tests leave for their end to clean up may finish."""
    if is_asked:
        signal_group(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        process.poll()
        if not signal_group(process.pid, 0):
            break
        time.sleep(0.05)
    else:
        signal_group(process.pid, signal.SIGKILL)
    process.wait()


def signal_group(group, number):
    """Sends a signal to a process group. Returns whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


class Counts:
    """How many tests passed, which of them at the second try, and which failed."""

    def __init__(self):
        self.passed = 0
        self.again = []
        self.failed = []

    def add(self, other):
        self.passed += other.passed
        self.again += other.again
        self.failed += other.failed

    def print(self):
        """Prints the closing lines."""
        for names, text in [(self.again, "passed at the second try"), (self.failed, "failed")]:
            if names:
                print(f"{len(names)} test{'s' * (len(names) != 1)} {text}:", *(f"    {name}" for name in names), sep="\n")
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)

    def save(self):
        """Adds these counts to the file of TEST_COUNTS, from which `scripts/test.sh` makes its summary."""
        path = os.environ.get("TEST_COUNTS")
        if path:
            with open(path, "a") as counts:
                counts.write(f"{self.passed} {len(self.failed)} {len(self.again)}\n")


def print_table(header, rows):
    """Prints a table: the first column is text, the others are numbers."""
    lines = [header, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for first, *others in lines:
        cells = [first.ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        print("  ".join(cells))
