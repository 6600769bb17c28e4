"""Runs tests with one mutant on: first all without a mutant, to see what they reach, then each mutant's."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

MEMORY_LIMIT = 6 << 30
MEASURE_SECONDS = 600


class Test:
    """A test program of the copy, with what it reached and how long it took without a mutant."""

    def __init__(self, label, program, arguments, copy_root):
        self.label = label
        self.reached = set()
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._command = [program, *arguments]
        self._runfiles = os.path.join(program + ".runfiles", "sluice")
        if not os.path.isdir(self._runfiles):
            self._runfiles = copy_root

    def _run(self, scratch, variables, seconds, cpu_seconds):
        """(whether the test passes within its limits, seconds of processor time)."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": scratch, "TEST_TMPDIR": scratch, "TEST_WORKSPACE": "sluice",
                       "TEST_SRCDIR": os.path.dirname(self._runfiles), "RUNFILES_DIR": os.path.dirname(self._runfiles),
                       "GTEST_FAIL_FAST": "1", **variables}
        # Programs set the limits: code of ours between fork and exec may hang where other threads run.
        limits = ["nice", "-n", "10", "prlimit", f"--cpu={cpu_seconds}:{cpu_seconds + 1}", f"--as={MEMORY_LIMIT}",
                  "--core=0"]
        child = subprocess.Popen([*limits, *self._command], cwd=self._runfiles, env=environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
        return wait_for(child, seconds)

    def _run_in_scratch(self, variables, seconds, cpu_seconds):
        scratch = tempfile.mkdtemp(prefix="mutant.")
        try:
            return self._run(scratch, variables, seconds, cpu_seconds)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def measure(self, count):
        """Runs it without a mutant, with `count` numbers of mutants in all. Returns whether it passes."""
        with tempfile.NamedTemporaryFile() as reached:
            reached.write(bytes(count + 1))
            reached.flush()
            begin = time.monotonic()
            variables = {"SLUICE_MUTANT_REACHED": reached.name}
            passes, self.cpu_seconds = self._run_in_scratch(variables, MEASURE_SECONDS, MEASURE_SECONDS)
            self.seconds = time.monotonic() - begin
            with open(reached.name, "rb") as file:
                self.reached = {number for number, byte in enumerate(file.read()) if byte}
        return passes

    def kills(self, number):
        """Whether the test fails, or takes far too long, with a mutant on."""
        return not self._run_in_scratch({"SLUICE_MUTANT": str(number)}, 30 + 10 * self.seconds,
                                        int(5 + 5 * self.cpu_seconds))[0]


def wait_for(child, seconds):
    """Waits for a child and ends what it started: (whether it succeeded in time, its seconds of processor time)."""
    end, pid, status = time.monotonic() + seconds, 0, 0
    while pid == 0:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid == 0 and time.monotonic() >= end:
            os.killpg(child.pid, signal.SIGKILL)
            pid, status, usage = os.wait4(child.pid, 0)
        elif pid == 0:
            time.sleep(0.005)
    child.returncode = os.waitstatus_to_exitcode(status)
    try:
        os.killpg(child.pid, signal.SIGKILL)  # What the test itself has started, too.
    except ProcessLookupError:
        pass
    return child.returncode == 0, usage.ru_utime + usage.ru_stime


def measure_all(tests, count, say, pool):
    """Measures the tests. Returns those that pass without a mutant, fastest first."""
    good = []
    for test, passes in zip(tests, pool.map(lambda test: test.measure(count), tests)):
        if passes:
            good.append(test)
        else:
            say(f"{test.label} fails without a mutant, and is left out")
    return sorted(good, key=lambda test: test.cpu_seconds)


def killer_of(mutant, tests):
    """(the test that kills the mutant or None, how many tests reach it)."""
    reaching = [test for test in tests if mutant.number in test.reached]
    for test in reaching:
        if test.kills(mutant.number):
            return test, len(reaching)
    return None, len(reaching)
