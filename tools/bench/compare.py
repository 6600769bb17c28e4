#!/usr/bin/env python3
"""Sluice against TensorFlow on the executor benchmarks, interleaved in one run: each round times Sluice, then each
TensorFlow configuration, then Sluice again, and so on; ratios are of the medians and of the minima over all rounds.

    python3 tools/bench/compare.py --tensorflow-python VENV/bin/python [--only REGEX] [--rounds N]

Builds what it needs, writes the graphs of graphs.py to a temporary folder and prints a Markdown table. TensorFlow is the
wheel in that environment (development only). Rounds during which other processes used more than 3 % of a core are
dropped where enough others are left; the table marks rows where they were not.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIND = "import os, tensorflow as t; print(os.path.join(os.path.dirname(t.__file__), 'libtensorflow_cc.so.2'))"


def busy_seconds():
    """Seconds all processors have worked since the machine started."""
    with open("/proc/stat") as file:
        fields = [int(x) for x in file.readline().split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def timed(command):
    """Runs `command`; its JSON line and whether other processes disturbed it."""
    before, own_before, start = busy_seconds(), os.times(), os.times().elapsed
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return None, False
    own_after = os.times()
    own = (own_after.children_user + own_after.children_system) - (own_before.children_user + own_before.children_system)
    foreign = busy_seconds() - before - own
    return json.loads(run.stdout.strip().splitlines()[-1]), foreign > 0.03 * (own_after.elapsed - start)


def build(target):
    setup = os.path.join(ROOT, "tools", "setup", "setup.sh")
    subprocess.run(["bash", "-c", f"source {setup}; run_bazel build {target}"], check=True, cwd=ROOT)
    where = subprocess.run(["bash", "-c", f"source {setup}; run_bazel info bazel-bin"], check=True, cwd=ROOT,
                           capture_output=True, text=True).stdout.strip()
    return os.path.join(where, target.lstrip("/").replace(":", "/"))


def measure(name, folder, commands, rounds):
    """{column: (median, minimum)} in ns per unit, and whether the figures are clean."""
    samples = {column: [] for column in commands}
    clean = {column: [] for column in commands}
    for _ in range(rounds):
        for column, command in commands.items():
            graph = os.path.join(folder, name)
            result, disturbed = timed(command(graph + ".pb", graph + ".side"))
            if result is None:
                continue
            samples[column].append(result)
            if not disturbed:
                clean[column].append(result)
    figures, is_clean = {}, True
    for column in commands:
        chosen = clean[column] if len(clean[column]) >= 3 else samples[column]
        is_clean = is_clean and len(clean[column]) >= 3
        if chosen:
            figures[column] = (statistics.median(r["median"] for r in chosen), min(r["min"] for r in chosen), chosen)
    return figures, is_clean


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow-python", required=True)
    parser.add_argument("--only", default=r"B[1-8]_|BMX_(16|1024)_(1024|16)$")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of Sluice")
    parser.add_argument("--graph-bench", help="a built graph_bench, instead of building one")
    parser.add_argument("--tensorflow-bench", help="a built tensorflow_bench")
    arguments = parser.parse_args()
    ours = arguments.graph_bench or build("//tests/bench:graph_bench")
    theirs = arguments.tensorflow_bench or build("//tests/bench:tensorflow_bench")
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    os.environ.update(environment)
    library = subprocess.run([arguments.tensorflow_python, "-c", FIND], check=True, capture_output=True,
                             text=True).stdout.strip().splitlines()[-1]
    batches = ["--batches", str(arguments.batches)]
    commands = {
        "Sluice": lambda pb, side: [ours, pb, side, "--threads", str(arguments.threads)] + batches,
        "dataflow driver": lambda pb, side: [ours, pb, side, "--threads", "1", "--driver", "dataflow"] + batches,
    }
    for config in ("caller", "single", "pool"):
        commands[f"TensorFlow {config}"] = (
            lambda pb, side, config=config: [theirs, library, pb, side, "--config", config] + batches)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "graphs.py"), "--out", folder, "--only", arguments.only],
                       check=True)
        names = sorted({os.path.splitext(file)[0] for file in os.listdir(folder)}, key=lambda n: re.sub(
            r"\d+", lambda m: m.group().zfill(8), n))
        columns = list(commands)
        print("| graph | " + " | ".join(f"{c}, ns" for c in columns) + " | ratio to each TensorFlow (minima) |")
        print("|---" * (len(columns) + 2) + "|")
        for name in names:
            figures, is_clean = measure(name, folder, commands, arguments.rounds)
            cells = [f"{figures[c][0]:.4g} ({figures[c][1]:.4g})" if c in figures else "n/a" for c in columns]
            ratios = [f"{figures[c][0] / figures['Sluice'][0]:.3g} ({figures[c][1] / figures['Sluice'][1]:.3g})"
                      if c in figures and "Sluice" in figures else "n/a" for c in columns[2:]]
            print(f"| {name}{'' if is_clean else ' ~'} | " + " | ".join(cells) + " | " + ", ".join(ratios) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
