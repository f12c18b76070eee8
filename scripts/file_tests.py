#!/usr/bin/env python3
"""Runs files of tests with Node's test runner or pytest, and each file that failed once more.

    scripts/file_tests.py node [--concurrency N] [--tries-inside] [FILE]…
    scripts/file_tests.py pytest [FILE]…

FILES are in the current directory; without any, all files of tests there. Each run has a time limit, and with Node each
file too. Files with a failed test run once more, one after the other; a test that passes then is counted. With
--tries-inside the tests themselves try twice (`tests/browser/support/browser.js`) and say so. Exits with 1 if a test
failed twice.
"""

import argparse
import json
import re
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from testing import ROOT, Counts, exit_on_term, run_limited

# These are for runs that hang. Whole suites of browser tests take eight minutes on a quiet machine.
LIMIT_S = 2400
FILE_LIMIT_S = 1200

SECOND_TRY = re.compile(r'^"(.*)" failed at first')


@dataclass
class FileResult:
    """The names of the tests of a file that passed, that failed, and that failed at the first try."""

    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    again: list = field(default_factory=list)


def main():
    parser = argparse.ArgumentParser(description="Runs files of tests; the top of this file says how.")
    parser.add_argument("runner", choices=["node", "pytest"])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--concurrency", type=int, default=1, help="how many files run at the same time")
    parser.add_argument("--tries-inside", action="store_true", help="the tests themselves try twice")
    parser.add_argument("--file-limit", type=float, default=FILE_LIMIT_S, metavar="SECONDS")
    options = parser.parse_intermixed_args()
    exit_on_term()
    runner = RUNNERS[options.runner](options.concurrency, options.file_limit)
    files = options.files or sorted(path.name for path in Path.cwd().glob(runner.pattern))
    results = runner.run(files)
    if not options.tries_inside:
        run_again(runner, files, results)
    counts = count(results)
    print()
    counts.print()
    counts.save()
    return 1 if counts.failed or not files else 0


def run_again(runner, files, results):
    """Runs the files with failed tests once more, and replaces their results."""
    failed = [file for file in files if file in results and results[file].failed]
    if not failed:
        return
    print(f"\n--- Run once more because of a failed test: {', '.join(failed)}\n", flush=True)
    runner.concurrency = 1
    for file in failed:
        first = results[file]
        results[file] = runner.run([file]).get(file, FileResult())
        results[file].again = first.failed


def count(results):
    counts = Counts()
    for file, result in results.items():
        counts.passed += len(result.passed)
        counts.failed += [f"{file} {name}" for name in result.failed]
        counts.again += [f"{file} {name}" for name in result.again if name not in result.failed]
    return counts


def show(line):
    print(line, flush=True)


def complete(results, files, code, reason):
    """Counts each file as failed if the run failed without a failed test, since it is not known which were complete."""
    if reason:
        print(f"The run was ended by {reason}.")
    if reason or (code != 0 and not any(result.failed for result in results.values())):
        for file in files:
            result = results.setdefault(file, FileResult())
            result.failed = result.failed or ["the rest of the file"]
    return results


class Node:
    """Node's test runner."""

    pattern = "*.test.js"

    def __init__(self, concurrency, file_limit_s):
        self.concurrency = concurrency
        self.file_limit_s = file_limit_s

    def run(self, files):
        """Runs files. Returns the results by file, which is the one that registered a test."""
        with tempfile.NamedTemporaryFile("r") as events:
            options = {
                "test-concurrency": self.concurrency,
                "test-timeout": int(self.file_limit_s * 1000),
                "test-reporter": "spec",
                "test-reporter-destination": "stdout",
            }
            told = {"test-reporter": f"{ROOT}/scripts/node_reporter.mjs", "test-reporter-destination": events.name}
            flags = [f"--{name}={value}" for name, value in [*options.items(), *told.items()]]
            code, reason = run_limited(["node", "--test", *flags, *files], limit_s=LIMIT_S, on_line=show)
            results = {}
            for line in events:
                self.take(json.loads(line), results)
        return complete(results, files, code, reason)

    @staticmethod
    def take(event, results):
        result = results.setdefault(Path(event["file"]).name, FileResult())
        if event["type"] == "test:diagnostic":
            if found := SECOND_TRY.match(event["message"]):
                result.again.append(found[1])
        # A test that only failed because of its parts is not counted; nor are suites.
        elif event.get("kind") != "suite" and event.get("failure") != "subtestsFailed" and not event["isSkipped"]:
            tests = result.passed if event["type"] == "test:pass" else result.failed
            # A file that was ended is a test with the path of the file.
            tests.append("the whole file" if event["name"] == event["file"] else event["name"])


class Pytest:
    """pytest, in the environment of `scripts/deps.sh`."""

    pattern = "test_*.py"

    def __init__(self, _concurrency, _file_limit_s):
        pass

    def run(self, files):
        """Runs files. Returns the results by file."""
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory, "report.xml")
            command = [ROOT / ".test/venv/bin/pytest", f"--junit-xml={report}", *files]
            code, reason = run_limited(command, limit_s=LIMIT_S, on_line=show)
            results = self.results(ElementTree.parse(report)) if report.exists() else {}
            return complete(results, files, code, reason)

    @staticmethod
    def results(report):
        results = {}
        for case in report.iter("testcase"):
            # The case of a file that cannot be read has no class, and the name of the file.
            module = (case.get("classname") or case.get("name")).split(".")[0]
            result = results.setdefault(f"{module}.py", FileResult())
            if case.find("failure") is not None or case.find("error") is not None:
                result.failed.append(case.get("name"))
            elif case.find("skipped") is None:
                result.passed.append(case.get("name"))
        return results


RUNNERS = {"node": Node, "pytest": Pytest}


if __name__ == "__main__":
    sys.exit(main())
