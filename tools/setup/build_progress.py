"""Runs Bazel and says on standard error how far it is: a line that is rewritten on a terminal, else one every 15 s.

  build_progress.py --name building --log FILE -- bazel build //tools/cli:sluice

All else that Bazel prints goes to the log. The status is Bazel's. What ends this program ends Bazel's command as well.
"""

import argparse
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time

# "[312 / 1,040] 7 / 188 tests, 1 failed; Compiling x.cc; 3s local ... (2 actions running)"
_PROGRESS = re.compile(r"^\[([\d,]+) / ([\d,]+)\] ?(?:(\d[\d,]*) / (\d[\d,]*) tests(?:, (\d+) failed)?)?")
_TOTAL = re.compile(r"^INFO: Build completed.*, ([\d,]+) total actions?$")
_OTHER_PROGRESS = re.compile(r"^(?:Loading:|Analyzing:|Starting local Bazel|\[|\s*$)")
_BAZEL_FLAGS = ["--curses=no", "--color=no", "--show_progress_rate_limit=1"]


class Progress:
    """How far Bazel is, by what it printed last."""

    def __init__(self):
        self.actions = None  # (done, known so far)
        self.tests = None  # (done, all, failed)

    def read(self, line):
        """Takes a line of Bazel's output, and returns whether it says nothing but how far it is."""
        found = _TOTAL.match(line)
        if found:
            self.actions = found.group(1), found.group(1)
        found = _PROGRESS.match(line)
        if not found:
            return _OTHER_PROGRESS.match(line) is not None
        self.actions = found.group(1), found.group(2)
        if found.group(3):
            self.tests = found.group(3), found.group(4), found.group(5)
        return True

    def describe(self):
        parts = []
        if self.actions is None:
            parts.append("reading what is to be built")
        else:
            parts.append("%s of %s actions" % self.actions)
        if self.tests is not None:
            done, total, failed = self.tests
            parts.append(f"{done} of {total} tests" + (f" ({failed} failed)" if failed else ""))
        return ", ".join(parts)


def format_time(seconds):
    seconds = int(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


class Display:
    """Shows one line of status: rewritten on a terminal, else printed at intervals. For one thread."""

    def __init__(self, stream, interval):
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._interval = 0.5 if self._is_terminal else interval
        self._next = time.monotonic() + self._interval
        self._shown = False  # Whether a line without an end stands on the terminal.

    def wait_time(self):
        return max(0.0, self._next - time.monotonic())

    def update(self, text):
        """Shows the text when the time has come."""
        if self.wait_time() > 0:
            return
        self._next = time.monotonic() + self._interval
        if self._is_terminal:
            self._stream.write("\r\033[K" + text[:max(20, terminal_width(self._stream) - 1)])
            self._shown = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self):
        """Takes the line off the terminal, so that other text may follow."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()
            self._shown = False


def terminal_width(stream):
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


class _Reader(threading.Thread):
    """Reads Bazel's output line by line, logs what is not progress, and wakes the thread that shows the rest."""

    def __init__(self, pipe, log, progress, text, changed):
        super().__init__(daemon=True)
        self._pipe, self._log, self._progress, self._text, self._changed = pipe, log, progress, text, changed

    def run(self):
        for line in self._pipe:
            with self._changed:
                if not self._progress.read(line):
                    self._text.append(line)
                    if self._log is not None:
                        self._log.write(line)
                self._changed.notify()


def end_with_parent():
    """Has the kernel end this process when its parent does: a script that is killed leaves no build running."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def run_bazel(command, name, log=None, echo=False, interval=15.0, stream=sys.stderr, stdout=None, **options):
    """Runs `bazel COMMAND …` and shows its progress under a name. Its standard error goes to the file `log` (standard
    output too, where there is one), and with `echo` all but progress to `stream`. Returns (status, seconds, Progress).
    """
    command = [*command[:2], *_BAZEL_FLAGS, *command[2:]]
    progress, lines, changed, begin = Progress(), [], threading.Condition(), time.monotonic()
    display = Display(stream, interval)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout if log is None else subprocess.PIPE,
                             stderr=subprocess.PIPE if log is None else subprocess.STDOUT, text=True, errors="replace",
                             **options)
    pipe = child.stderr if log is None else child.stdout
    reader = _Reader(pipe, log, progress, lines, changed)
    reader.start()
    try:
        while reader.is_alive() or lines:
            with changed:
                if reader.is_alive() and not lines:
                    changed.wait(min(0.5, display.wait_time() or 0.5))
                taken, lines[:] = list(lines), []
                text = progress.describe()
            if echo and taken:
                display.clear()
                stream.write("".join(taken))
                stream.flush()
            if reader.is_alive():
                display.update(f"sluice: {name}: {text}, {format_time(time.monotonic() - begin)}")
        return child.wait(), time.monotonic() - begin, progress
    finally:
        display.clear()
        if child.poll() is None:
            stop(child)
        reader.join()
        pipe.close()


def stop(child):
    """Ends a Bazel that runs: its client tells its server to stop. Ctrl-C on a terminal has reached it already."""
    try:
        child.wait(1)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
        child.wait()


def end_by(number, _frame):
    """Ends the program by exception, so that what is running is stopped first."""
    raise SystemExit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="what is being done: building")
    parser.add_argument("--log", required=True, help="the file for all that Bazel prints")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two lines, where they are kept")
    parser.add_argument("command", nargs="+", help="bazel and its arguments")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, end_by)
    end_with_parent()
    if not sys.stderr.isatty():
        print(f"sluice: {arguments.name}", file=sys.stderr, flush=True)
    try:
        with open(arguments.log, "w", encoding="utf-8") as log:
            status, seconds, progress = run_bazel(arguments.command, arguments.name, log, interval=arguments.every)
    except KeyboardInterrupt:
        # The script that called this must see that it was interrupted, and not that a build failed.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    if status == 0 and progress.actions:
        done, took = progress.actions[1], format_time(seconds)
        print(f"sluice: {arguments.name}: done, {done} actions, {took}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
