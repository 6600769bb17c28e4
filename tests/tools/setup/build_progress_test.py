"""tools/setup/build_progress.py shows how far Bazel is, passes on all else, and leaves nothing running."""

import io
import os
import pty
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "setup"))
import build_progress  # noqa: E402  (stands in a folder that is not a package)

SCRIPT = os.path.join(ROOT, "tools", "setup", "build_progress.py")

# Prints what Bazel prints into a pipe, then waits for a byte in the pipe $GO, so that tests decide when it ends.
BAZEL = """#!/bin/bash
trap 'echo interrupted >>"$LOG"; exit 8' INT
echo "$*" >>"$LOG"
echo "Analyzing: target //a:b (3 packages loaded)" >&2
echo "[0 / 4] [Prepa] Writing" >&2
echo "[312 / 1,040] 2 / 188 tests, 1 failed; Compiling a.cc; 3s local ... (2 actions running)" >&2
echo "a.cc:1: no such symbol" >&2
echo "//a:b PASSED"
if [[ -e "$GO" ]]; then read -r <"$GO"; fi
echo "INFO: Build completed successfully, 1,041 total actions" >&2
exit "${STATUS:-0}"
"""


class ProgressTest(unittest.TestCase):
    def test_reads_what_bazel_prints(self):
        progress = build_progress.Progress()
        for line, is_progress, text in (
                ("Loading: 3 packages loaded\n", True, "reading what is to be built"),
                ("\n", True, "reading what is to be built"),
                ("[5 / 10] Compiling x.cc; 0s local ... (3 actions, 2 running)\n", True, "5 of 10 actions"),
                ("[1,064 / 1,068] 3 / 188 tests; Testing //x\n", True, "1,064 of 1,068 actions, 3 of 188 tests"),
                ("[7 / 9] 4 / 8 tests, 2 failed; x\n", True, "7 of 9 actions, 4 of 8 tests (2 failed)"),
                ("[9 / 9] checking cached actions\n", True, "9 of 9 actions, 4 of 8 tests (2 failed)"),
                ("ERROR: a.cc:1: [1 / 2] is not progress\n", False, "9 of 9 actions, 4 of 8 tests (2 failed)"),
                ("INFO: Build completed, 1 test FAILED, 12 total actions\n", False,
                 "12 of 12 actions, 4 of 8 tests (2 failed)")):
            self.assertEqual((progress.read(line), progress.describe()), (is_progress, text))

    def test_writes_times(self):
        times = [build_progress.format_time(seconds) for seconds in (0, 59.9, 60, 125, 3599, 3600, 7384)]
        self.assertEqual(times, ["0 s", "59 s", "1 min 00 s", "2 min 05 s", "59 min 59 s", "1 h 00 min", "2 h 03 min"])

    def test_prints_no_line_before_its_time(self):
        stream = io.StringIO()
        display = build_progress.Display(stream, 3600)
        display.update("a")
        self.assertEqual(stream.getvalue(), "")
        display = build_progress.Display(stream, 0)
        display.update("a")
        display.update("b")
        self.assertEqual(stream.getvalue(), "a\nb\n")


class RunTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        with open(self.path("bazel"), "w", encoding="utf-8") as file:
            file.write(BAZEL)
        os.chmod(self.path("bazel"), 0o755)
        self.environment = {**os.environ, "PATH": self.folder + ":/usr/bin:/bin", "LOG": self.path("calls"),
                            "GO": self.path("go")}

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def start(self, stderr, every="0", **variables):
        command = [sys.executable, "-B", SCRIPT, "--name", "building", "--log", self.path("log"), "--every", every,
                   "--", "bazel", "build", "//a:b"]
        return subprocess.Popen(command, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True)

    def test_says_how_far_it_is_and_keeps_the_log(self):
        os.mkfifo(self.path("go"))
        run = self.start(subprocess.PIPE)
        said = [run.stderr.readline(), run.stderr.readline()]
        while "312" not in said[-1]:
            said.append(run.stderr.readline())
        with open(self.path("go"), "w", encoding="utf-8") as go:
            go.write("\n")
        output, rest = run.communicate()
        self.assertEqual((run.returncode, output, said[0]), (0, "", "sluice: building\n"))
        self.assertRegex(said[-1], r"^sluice: building: 312 of 1,040 actions, 2 of 188 tests \(1 failed\), \d+ s\n$")
        self.assertRegex(rest.splitlines()[-1], r"^sluice: building: done, 1,041 actions, \d+ s$")
        self.assertEqual(self.read("log"), "a.cc:1: no such symbol\n//a:b PASSED\n"
                                           "INFO: Build completed successfully, 1,041 total actions\n")
        self.assertRegex(self.read("calls"), r"^build --curses=no .* //a:b\n$")

    def test_gives_the_status_of_a_build_that_fails(self):
        run = self.start(subprocess.PIPE, every="3600", STATUS="1")
        output, said = run.communicate()
        self.assertEqual((run.returncode, output, said), (1, "", "sluice: building\n"))
        self.assertIn("no such symbol", self.read("log"))

    def test_rewrites_one_line_on_a_terminal(self):
        os.mkfifo(self.path("go"))
        ours, theirs = pty.openpty()
        run = self.start(theirs)
        os.close(theirs)
        said = b""
        while b"312 of 1,040 actions" not in said:
            said += os.read(ours, 4096)
        with open(self.path("go"), "w", encoding="utf-8") as go:
            go.write("\n")
        run.communicate()
        said += os.read(ours, 4096)
        os.close(ours)
        self.assertNotIn(b"\n", said.partition(b"sluice: building: done")[0])
        self.assertIn(b"\r\x1b[Ksluice: building: 312 of 1,040 actions", said)
        self.assertIn(b"\r\x1b[Ksluice: building: done", said)

    def interrupt(self, number):
        """Sends a signal to the program alone, and returns its status when Bazel has ended too."""
        os.mkfifo(self.path("go"))
        run = self.start(subprocess.PIPE)
        while "312" not in run.stderr.readline():
            pass
        run.send_signal(number)
        run.communicate()
        self.assertIn("interrupted", self.read("calls"))
        return run.returncode

    def test_an_interrupt_ends_bazel_and_is_seen_by_the_caller(self):
        self.assertEqual(self.interrupt(signal.SIGINT), -signal.SIGINT)

    def test_a_request_to_end_ends_bazel(self):
        self.assertEqual(self.interrupt(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_passes_on_what_is_not_progress(self):
        stream = io.StringIO()
        reading, writing = os.pipe()
        with os.fdopen(reading) as output:
            status, _, progress = build_progress.run_bazel(
                ["bazel", "test", "//a:b"], "testing", echo=True, interval=3600, stream=stream, stdout=writing,
                env=self.environment)
            os.close(writing)
            self.assertEqual(output.read(), "//a:b PASSED\n")
        self.assertEqual((status, progress.actions), (0, ("1,041", "1,041")))
        self.assertEqual(stream.getvalue(),
                         "a.cc:1: no such symbol\nINFO: Build completed successfully, 1,041 total actions\n")


if __name__ == "__main__":
    unittest.main()
