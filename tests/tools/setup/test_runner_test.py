"""tools/setup/test_runner.py counts what ran, case by case, and never what did not."""

import contextlib
import io
import json
import os
import sys
import tempfile
import types
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "setup"))
import test_runner  # noqa: E402  (stands in a folder that is no package)

REPORT = """<testsuites><testsuite name="GraphTest">
<testcase name="Adds" status="run" result="completed" classname="GraphTest"/>
<testcase name="Removes" status="run" result="completed" classname="GraphTest">
  <failure message="graph_test.cc:7&#x0A;Expected: 1"/></testcase>
<testcase name="Cuda" status="run" result="skipped" classname="GraphTest"><skipped message="no device"/></testcase>
<testcase name="Other" status="notrun" result="suppressed" classname="GraphTest"/>
</testsuite></testsuites>"""
WHOLE = """<testsuites><testsuite name="tests/lint/x"><testcase name="tests/lint/x" status="run"/></testsuite></testsuites>"""


class TestRunnerTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.tally = test_runner.Tally()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_counts_the_cases_of_a_report(self):
        test_runner.count_report(self.tally, "//tests/graph:graph_test", self.write("a.xml", REPORT), "")
        self.assertEqual(self.tally.passed, 1)
        self.assertEqual(self.tally.failures, [
            ("//tests/graph:graph_test GraphTest.Removes", "graph_test.cc:7 Expected: 1")])
        self.assertEqual(self.tally.skipped, [("//tests/graph:graph_test GraphTest.Cuda", "no device")])

    def test_counts_a_script_as_one_case(self):
        test_runner.count_report(self.tally, "//tests/lint:x", self.write("a.xml", WHOLE), "")
        self.assertEqual((self.tally.passed, self.tally.failures), (1, []))

    def test_counts_an_unreadable_report_as_failed(self):
        test_runner.count_report(self.tally, "//t:x", self.write("a.xml", "<testsuites>"), "[asan] ")
        self.assertEqual(self.tally.failures[0][0], "[asan] //t:x")

    def test_finds_reports_and_targets_that_do_not_build(self):
        events = [
            {"id": {"testResult": {"label": "//t:a"}},
             "testResult": {"testActionOutput": [{"name": "test.xml", "uri": "file:///logs/a%20b/test.xml"}]}},
            {"id": {"targetCompleted": {"label": "//t:a"}}, "completed": {"success": True}},
            {"id": {"targetCompleted": {"label": "//t:broken"}}, "completed": {}},
            {"id": {"targetCompleted": {"label": "//t:odd"}}, "aborted": {"reason": "ANALYSIS_FAILURE"}},
        ]
        path = self.write("events.json", "".join(json.dumps(event) + "\n" for event in events))
        self.assertEqual(test_runner.read_events(path),
                         ({"//t:a": ["/logs/a b/test.xml"]}, {}, ["//t:broken", "//t:odd"]))

    def test_finds_targets_that_failed(self):
        path = self.write("events.json", "".join(json.dumps(
            {"id": {"testResult": {"label": label}}, "testResult": {"status": status}}) + "\n"
            for label, status in (("//t:a", "PASSED"), ("//t:b", "FAILED"), ("//t:c", "TIMEOUT"))))
        self.assertEqual(test_runner.read_events(path)[1], {"//t:b": "FAILED", "//t:c": "TIMEOUT"})

    def test_a_target_that_fails_after_its_last_case_is_a_failure(self):
        passing = self.write("a.xml", WHOLE)
        test_runner.count_target(self.tally, "//t:x", [passing], None, "[asan] ")
        self.assertEqual((self.tally.passed, self.tally.failures), (1, []))
        test_runner.count_target(self.tally, "//t:x", [passing], "FAILED", "[asan] ")
        self.assertEqual([name for name, _ in self.tally.failures], ["[asan] //t:x"])

    def test_a_target_whose_cases_fail_is_not_counted_again(self):
        test_runner.count_target(self.tally, "//t:x", [self.write("a.xml", REPORT)], "FAILED", "")
        self.assertEqual([name for name, _ in self.tally.failures], ["//t:x GraphTest.Removes"])

    def run_shared(self, failures, patterns):
        """Runs three shared cases, of which some fail, with some patterns listed."""
        root = os.path.join(self.folder, "main")
        self.write("main/tests/conformance.txt", patterns)
        for case in ("ops/Add", "ops/Sub", "errors/F1"):
            self.write(f"shared/conformance/{case}/case.json", "{}")
        original = test_runner.conform
        self.addCleanup(setattr, test_runner, "conform", original)
        test_runner.conform = lambda checkout, folders: (failures, None)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            test_runner.run_shared_cases(test_runner.Checkout(root, ""), self.tally, types.SimpleNamespace(filter=None))
        return output.getvalue()

    def test_listed_cases_must_pass_and_others_are_counted(self):
        said = self.run_shared({"ops/Add": "step 0", "errors/F1": "step 1"}, "# ours\nerrors/*  # all\nops/Sub\n")
        self.assertEqual(said, "conformance: 1 of 3 cases pass, 2 listed\n")
        self.assertEqual(self.tally.passed, 1)
        self.assertEqual(self.tally.failures, [("conformance/errors/F1", "step 1")])

    def test_a_pattern_without_a_case_is_a_failure(self):
        self.run_shared({}, "ops/Mul\n")
        self.assertEqual(self.tally.failures, [("tests/conformance.txt: ops/Mul", "no case has this name")])

    def test_filters_by_part_of_a_name_or_pattern(self):
        self.assertTrue(test_runner.matches("graph/ir", "tests/graph/ir/graph_test"))
        self.assertTrue(test_runner.matches("ir/*_test", "tests/graph/ir/graph_test"))
        self.assertFalse(test_runner.matches("ops", "tests/graph/ir/graph_test"))


if __name__ == "__main__":
    unittest.main()
