#!/usr/bin/env python3
"""Runs the Rust tests, each test binary with a time limit, and each test that failed once more.

    scripts/rust_tests.py [-p CRATE]… [--only-tests] [--skip PATTERN] [FILTER]

It builds the test binaries of the workspace and runs those of all crates (or of those named, by their folders) one
after the other, because many tests watch the time. FILTER and --skip choose tests by a part of their path, as `cargo
test` does; --only-tests leaves out unit tests. A binary is ended, with all processes it started, when no test has ended for five minutes or when it has run
for 45. A test that failed runs once more, alone. If it passes then, its first failure is printed and counted. Exits
with 1 if a test failed twice.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from testing import ROOT, Counts, exit_on_term, print_table, run_limited

PROGRESS_EVERY_S = 15
# If more tests fail, the change is wrong, and running them again only takes time.
MOST_AGAIN = 50
LINES_OF_A_FAILURE = 80

TEST = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
SLOW = re.compile(r"^test (.+?)(?: - should panic)? has been running for over \d+ seconds")
TOTAL = re.compile(r"^running (\d+) tests?$")
FAILURE = re.compile(r"^---- (.+?)(?: - should panic)? stdout ----$")
LISTED = re.compile(r"^(.+): test$")


@dataclass
class Limits:
    """When a test binary is ended: after so long in all, or so long without the end of a test."""

    all_s: float = 2700
    quiet_s: float = 300


@dataclass
class Binary:
    """A test binary: its crate, the name of its file in `tests` unless it has the unit tests, and where it runs."""

    crate: str
    suite: str | None
    path: str
    directory: str

    @property
    def name(self):
        return f"{self.crate} {self.suite}" if self.suite else self.crate

    def tests(self, choice):
        """The paths of the chosen tests."""
        output = subprocess.run([self.path, *choice, "--list"], cwd=self.directory, stdout=subprocess.PIPE, text=True)
        return {found[1] for line in output.stdout.splitlines() if (found := LISTED.match(line))}


class Pass:
    """One run of a test binary, and what it reported."""

    def __init__(self, binary, choice, limits):
        self.binary = binary
        self.results = {}
        self.slow = set()
        self.total = 0
        self.lines = []
        self.began = self.told = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as stderr:
            code, self.reason = run_limited(
                [binary.path, *choice],
                limit_s=limits.all_s,
                quiet_limit_s=limits.quiet_s,
                on_line=self.read,
                on_tick=self.tell,
                cwd=binary.directory,
                env={**os.environ, "CARGO_MANIFEST_DIR": binary.directory},
                stderr=stderr,
            )
            stderr.seek(0)
            self.stderr = stderr.read().splitlines()
        if self.reason is None and code not in (0, 101):
            self.reason = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.is_ok = code == 0 and self.reason is None

    def read(self, line):
        """Takes a line of the output. Returns whether it says that a test ended."""
        self.lines.append(line)
        if found := TOTAL.match(line):
            self.total = int(found[1])
        elif found := SLOW.match(line):
            self.slow.add(found[1])
        elif found := TEST.match(line):
            self.results[found[1]] = found[2]
            return True
        return False

    def tell(self):
        """Prints from time to time how far it is."""
        now = time.monotonic()
        if now - self.told >= PROGRESS_EVERY_S:
            self.told = now
            failed = len(self.those("FAILED"))
            failures = f", {failed} failed so far" if failed else ""
            done = f"{len(self.results)} of {self.total} tests"
            print(f"    {self.binary.name}: {done} after {now - self.began:.0f} s{failures}", flush=True)

    def those(self, result):
        return {name for name, its in self.results.items() if its == result}

    def failure(self, name):
        """The lines in which the binary says why a test failed."""
        start = next((at for at, line in enumerate(self.lines) if (f := FAILURE.match(line)) and f[1] == name), None)
        if start is None:
            return [*self.lines[-10:], *self.stderr[-LINES_OF_A_FAILURE:]]
        rest = self.lines[start:]
        end = next((at for at, line in enumerate(rest) if at and (FAILURE.match(line) or line == "failures:")), len(rest))
        return rest[:end][:LINES_OF_A_FAILURE]


def main():
    parser = argparse.ArgumentParser(description="Runs the Rust tests; the top of this file says how.")
    parser.add_argument("filter", nargs="?", help="a part of the paths of the tests to run")
    parser.add_argument("-p", "--package", action="append", default=[], help="the folder of a crate, instead of all crates")
    parser.add_argument("--only-tests", action="store_true", help="leave out unit tests")
    parser.add_argument("--skip", help="a part of the paths of the tests not to run")
    options = parser.parse_args()
    exit_on_term()
    choice = [options.filter] if options.filter else []
    if options.skip:
        choice += ["--skip", options.skip]
    binaries = build()
    if options.only_tests:
        binaries = [binary for binary in binaries if binary.suite]
    if options.package:
        binaries = [binary for binary in binaries if binary.crate in options.package]
    return run_all(binaries, choice)


def build():
    """Builds the test binaries and returns them, in the order of their names.

    Always those of the whole workspace: for fewer crates cargo would choose other features of what they depend on, and
    compile nearly all of it again.
    """
    command = ["cargo", "test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if output.returncode != 0:
        sys.exit(output.returncode)
    binaries = []
    for message in map(json.loads, output.stdout.splitlines()):
        if message["reason"] != "compiler-artifact" or not message["profile"]["test"] or not message["executable"]:
            continue
        target, directory = message["target"], os.path.dirname(message["manifest_path"])
        is_test = target["kind"] == ["test"]
        suite = target["name"] if is_test else None
        binaries.append(Binary(os.path.basename(directory), suite, message["executable"], directory))
    return sorted(binaries, key=lambda binary: binary.name)


def run_all(binaries, choice, limits=Limits()):
    """Runs the binaries and prints the closing table. Returns the exit code."""
    counts, rows = Counts(), []
    for binary in binaries:
        began = time.monotonic()
        found = run_binary(binary, choice, limits)
        if found.passed or found.failed:
            counts.add(found)
            seconds = f"{time.monotonic() - began:.1f}"
            rows.append([binary.name, found.passed, len(found.again), len(found.failed), seconds])
    print()
    print_table(["binary", "passed", "at the second try", "failed", "seconds"], rows)
    counts.print()
    counts.save()
    if not rows:
        print("No test has such a path.")
    return 1 if counts.failed or not rows else 0


def run_binary(binary, choice, limits):
    """Runs the tests of a binary, and each that failed once more."""
    counts = Counts()
    first = Pass(binary, choice, limits)
    passed, failures = first.those("ok"), {name: first.failure(name) for name in first.those("FAILED")}
    if not first.is_ok and not (failures and first.reason is None):
        # It ended early. What hung has failed; tests that were not reported run now.
        unfinished = binary.tests(choice) - first.results.keys()
        hung = unfinished & first.slow
        failures |= {name: [f"It hung: {binary.name} was ended by {first.reason}."] for name in hung}
        show(f"{binary.name} was ended by {first.reason}; {len(unfinished)} tests were not done", first.failure(""))
        if not hung:
            counts.again.append(f"{binary.name}, which was ended by {first.reason}")
        if rest := sorted(unfinished - hung):
            second = Pass(binary, ["--exact", *rest], limits)
            passed |= second.those("ok")
            failures |= {name: second.failure(name) for name in rest if second.results.get(name) not in ("ok", "ignored")}
    counts.passed = len(passed)
    is_hopeless = len(failures) > MOST_AGAIN
    for name, lines in sorted(failures.items()):
        show(f"{binary.name} {name} failed", lines)
        again = None if is_hopeless else Pass(binary, ["--exact", name], limits)
        if again and again.is_ok and again.total == 1:
            print(f"    {name} passed at the second try", flush=True)
            counts.again.append(f"{binary.name} {name}")
            counts.passed += 1
        else:
            counts.failed.append(f"{binary.name} {name}")
            if again:
                show(f"{binary.name} {name} failed twice; the second time", again.failure(name))
    return counts


def show(title, lines):
    print(f"\n--- {title}", *(f"    {line}" for line in lines), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
