"""Runs benchmark programs in rounds, one after the other, and says which figures nothing else disturbed."""
import json
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT_SECONDS = 300
NEEDED_CLEAN = 3


def busy_seconds():
    """Seconds all processors have worked since the machine started."""
    with open("/proc/stat") as file:
        fields = [int(x) for x in file.readline().split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def timed(command):
    """Runs `command`; its JSON line (None if it fails or takes too long), and whether other processes disturbed it."""
    before, own_before = busy_seconds(), os.times()
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return None, False
    if run.returncode != 0:
        return None, False
    own_after = os.times()
    own = (own_after.children_user + own_after.children_system) - (own_before.children_user + own_before.children_system)
    foreign = busy_seconds() - before - own
    return json.loads(run.stdout.strip().splitlines()[-1]), foreign > 0.03 * (own_after.elapsed - own_before.elapsed)


def build(target):
    setup = os.path.join(ROOT, "tools", "setup", "setup.sh")
    subprocess.run(["bash", "-c", f"source {setup}; run_bazel build {target}"], check=True, cwd=ROOT)
    where = subprocess.run(["bash", "-c", f"source {setup}; run_bazel info bazel-bin"], check=True, cwd=ROOT,
                           capture_output=True, text=True).stdout.strip()
    return os.path.join(where, target.lstrip("/").replace(":", "/"))


class Figure:
    """What the rounds of one column say: medians over the rounds and the least of all."""

    def __init__(self, results, is_clean):
        self.results, self.is_clean = results, is_clean

    def median(self, key="median"):
        return statistics.median(result[key] for result in self.results)

    def least(self, key="min"):
        return min(result[key] for result in self.results)

    def has(self, key):
        return key in self.results[0]


def measure(commands, rounds):
    """{column: Figure} of {column: command}, interleaved. A command that fails is not tried again."""
    samples = {column: [] for column in commands}
    clean = {column: [] for column in commands}
    failed = set()
    for _ in range(rounds):
        for column, command in commands.items():
            if column in failed:
                continue
            result, disturbed = timed(command)
            if result is None:
                failed.add(column)
                continue
            samples[column].append(result)
            if not disturbed:
                clean[column].append(result)
    figures = {}
    for column in commands:
        is_clean = len(clean[column]) >= min(NEEDED_CLEAN, rounds)
        if samples[column]:
            figures[column] = Figure(clean[column] if is_clean else samples[column], is_clean)
    return figures
