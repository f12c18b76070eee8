#!/usr/bin/env python3
"""Tests of the test runners, with test binaries and files whose tests pass, fail once, fail always, or hang."""

import contextlib
import io
import os
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import file_tests
import rust_tests
import testing

RUST = """
use std::{env, fs, path::PathBuf, process::Command, thread::sleep, time::Duration};

fn mark(name: &str) -> PathBuf {
    PathBuf::from(env::var("MARKS").unwrap()).join(name)
}

fn is_first(name: &str) -> bool {
    let is_first = !mark(name).exists();
    fs::write(mark(name), "").unwrap();
    is_first
}

#[test]
fn good() {}

#[test]
#[ignore]
fn ignored() {}

#[test]
#[should_panic]
fn panics() {
    panic!();
}

#[test]
fn fails_once() {
    assert!(!is_first("fails_once"), "as the first time");
}

#[test]
fn fails_always() {
    panic!("as ever");
}

#[test]
fn hangs() {
    let child = Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(mark("child"), child.id().to_string()).unwrap();
    sleep(Duration::from_secs(1000));
}

#[test]
fn hangs_once() {
    if is_first("hangs_once") {
        sleep(Duration::from_secs(1000));
    }
}

#[test]
fn aborts_once() {
    if is_first("aborts_once") {
        sleep(Duration::from_millis(200));
        std::process::abort();
    }
}
"""


class RustTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        source, cls.program = Path(cls.directory, "tests.rs"), Path(cls.directory, "tests")
        source.write_text(RUST)
        subprocess.run(["rustc", "--test", "--edition=2024", source, "-o", cls.program], check=True)

    def setUp(self):
        self.marks = Path(self.enterContext(tempfile.TemporaryDirectory()))
        os.environ["MARKS"] = str(self.marks)

    def run_tests(self, *names, quiet_s=60):
        """Runs these tests. Returns exit code, counts and output."""
        binary = rust_tests.Binary("example", None, str(self.program), self.directory)
        limits = rust_tests.Limits(all_s=60, quiet_s=quiet_s)
        counted = self.marks / "counts"
        os.environ["TEST_COUNTS"] = str(counted)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = rust_tests.run_all([binary], ["--exact", *names], limits)
        return code, counted.read_text().split(), output.getvalue()

    def test_passing_tests_pass(self):
        code, counts, output = self.run_tests("good", "panics", "ignored")
        self.assertEqual((code, counts), (0, ["2", "0", "0"]))
        self.assertIn("\n2 passed, 0 failed\n", output)

    def test_failed_test_passes_at_the_second_try_and_is_counted(self):
        code, counts, output = self.run_tests("good", "fails_once")
        self.assertEqual((code, counts), (0, ["2", "0", "1"]))
        self.assertIn("as the first time", output)
        self.assertIn("\n1 test passed at the second try:\n    example fails_once\n2 passed, 0 failed\n", output)

    def test_test_that_fails_twice_fails_the_run(self):
        code, counts, output = self.run_tests("good", "fails_always", "fails_once")
        self.assertEqual((code, counts), (1, ["2", "1", "1"]))
        self.assertEqual(output.count("as ever"), 2)

    def test_hanging_binary_is_ended_with_its_group(self):
        began = time.monotonic()
        code, counts, output = self.run_tests("good", "hangs", quiet_s=4)
        self.assertEqual((code, counts[:2]), (1, ["1", "1"]))
        self.assertIn("no progress for 4 s", output)
        self.assertLess(time.monotonic() - began, 50)
        child = int((self.marks / "child").read_text())
        self.assertFalse(is_running(child))

    def test_test_that_hangs_once_passes_at_the_second_try(self):
        code, counts, output = self.run_tests("good", "hangs_once", quiet_s=4)
        self.assertEqual((code, counts), (0, ["2", "0", "1"]))

    def test_binary_that_aborts_once_passes_at_the_second_try(self):
        code, counts, output = self.run_tests("good", "aborts_once", "fails_once")
        self.assertEqual((code, counts[:2]), (0, ["3", "0"]))
        self.assertIn("ended by signal 6", output)

    def test_no_test_at_all_fails_the_run(self):
        self.assertEqual(self.run_tests("missing")[:2], (1, ["0", "0", "0"]))


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


NODE = """
const { describe, test } = require('node:test');
const { existsSync, writeFileSync } = require('node:fs');

test('good', () => {});
describe('suite', () => {
  test('inner', () => {});
});
test('fails once', () => {
  const mark = process.env.MARKS + '/node';
  if (!existsSync(mark)) {
    writeFileSync(mark, '');
    throw new Error('as the first time');
  }
});
"""
NODE_ALWAYS = "require('node:test').test('fails always', () => { throw new Error('as ever'); });"
NODE_HANGS = "require('node:test').test('hangs', () => new Promise(() => setInterval(() => {}, 1000)));"
NODE_TWICE = """
require('node:test').test('tries twice', (t) => t.diagnostic('"tries twice" failed at first, and is done once more'));
"""


class FileTests(unittest.TestCase):
    def run_files(self, files, *options):
        """Runs these files with Node. Returns exit code, counts and output."""
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                Path(directory, name).write_text(text)
            counted = Path(directory, "counts")
            run = subprocess.run(
                [testing.ROOT / "scripts/file_tests.py", "node", *options, *(name for name in files if ".test." in name)],
                cwd=directory,
                env={**os.environ, "MARKS": directory, "TEST_COUNTS": str(counted)},
                capture_output=True,
                text=True,
            )
            return run.returncode, counted.read_text().split(), run.stdout

    def test_file_that_fails_once_passes_at_the_second_try_and_is_counted(self):
        code, counts, output = self.run_files({"a.test.js": NODE})
        self.assertEqual((code, counts), (0, ["3", "0", "1"]))
        self.assertIn("\n1 test passed at the second try:\n    a.test.js fails once\n3 passed, 0 failed\n", output)

    def test_file_that_fails_twice_fails_the_run(self):
        code, counts, _ = self.run_files({"a.test.js": NODE, "b.test.js": NODE_ALWAYS})
        self.assertEqual((code, counts), (1, ["3", "1", "1"]))

    def test_hanging_file_is_ended(self):
        code, counts, _ = self.run_files({"a.test.js": NODE, "b.test.js": NODE_HANGS}, "--file-limit", "3")
        self.assertEqual((code, counts), (1, ["3", "1", "1"]))

    def test_file_that_cannot_be_read_fails_the_run(self):
        code, counts, _ = self.run_files({"a.test.js": "require('./missing')"})
        self.assertEqual((code, counts), (1, ["0", "1", "0"]))

    def test_second_tries_inside_the_tests_are_counted(self):
        code, counts, _ = self.run_files({"a.test.js": NODE_TWICE, "b.test.js": NODE_ALWAYS}, "--tries-inside")
        self.assertEqual((code, counts), (1, ["1", "1", "1"]))

    def test_tests_that_another_file_registers_are_counted(self):
        support = "exports.register = (name) => require('node:test').test(name, () => {});"
        test = "require('./support').register('good');"
        code, counts, _ = self.run_files({"support.js": support, "a.test.js": test})
        self.assertEqual((code, counts), (0, ["1", "0", "0"]))

    def test_results_of_pytest_are_read(self):
        report = ElementTree.fromstring(
            '<testsuites><testsuite><testcase classname="test_a" name="good"/>'
            '<testcase classname="test_a" name="bad"><failure/></testcase>'
            '<testcase classname="test_a" name="left out"><skipped/></testcase>'
            '<testcase classname="" name="test_b"><error/></testcase></testsuite></testsuites>'
        )
        results = file_tests.Pytest.results(report)
        self.assertEqual((results["test_a.py"].passed, results["test_a.py"].failed), (["good"], ["bad"]))
        self.assertEqual(results["test_b.py"].failed, ["test_b"])


class Table(unittest.TestCase):
    def test_columns_align(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            testing.print_table(["name", "passed"], [["a", 1], ["longer", 1000]])
        self.assertEqual(output.getvalue(), "name    passed\na            1\nlonger    1000\n")


if __name__ == "__main__":
    unittest.main()
