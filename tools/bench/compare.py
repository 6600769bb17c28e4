#!/usr/bin/env python3
"""Sluice against TensorFlow and ONNX Runtime on the executor benchmarks, interleaved in one run: each round times Sluice,
then each configuration of the others, then Sluice again, and so on; figures are medians over all rounds, in brackets the
least of all batches.

    python3 tools/bench/compare.py --tensorflow-python VENV/bin/python [--only REGEX] [--rounds N]

    python3 tools/bench/compare.py --tensorflow-python VENV/bin/python --graphs FOLDER [--only REGEX] [--rounds N]

The second form takes ready graphs, NAME.pb with a NAME.side as graphs.py writes them: whole models, which TensorFlow
also runs with its rewriting of graphs on ("rewriting", one thread), and we with ours.

Builds what it needs, writes the graphs of graphs.py and onnx_graphs.py to a temporary folder and prints Markdown tables:
  - nanoseconds per unit of work (a node, an iteration, a call, a stage), each peer's time / ours, and the goals;
  - B10: nanoseconds per node from the file to the first result, and megabytes;
  - processor time per call of B8's callers;
  - the speed-up by a second thread, of the rows that come with one and two.
Both others are the wheels in that environment (development only); ONNX Runtime is left out where it is not there. Rounds
during which other processes used more than 3 % of a core are dropped where enough others are left; rows of which they
were not are marked "~".
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

import onnx_graphs
from bench_runs import build, measure

HERE = os.path.dirname(os.path.abspath(__file__))
FIND = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('%s').origin))"
CONFIGS = ("caller", "single", "pool", "default")
MODEL_CONFIGS = ("rewriting", "caller")
ORT = "ONNX Runtime"

# Rows, column, how many times faster than it we want to be.
GOALS = (
    (r"B1_chain_10000", "TensorFlow caller", 10), (r"B1_chain_10000", "TensorFlow single", 6),
    (r"B1_chain_10000", ORT, 12), (r"B2_(fan|relu)_10000", "TensorFlow caller", 10),
    (r"B3_layered_100x100", "TensorFlow caller", 8), (r"B4_dead_10000", "TensorFlow caller", 300),
    (r"B4_dead_10000", ORT, 1), (r"B5_count_100k", "TensorFlow caller", 15), (r"B5_body10_100k", "TensorFlow caller", 20),
    (r"B6_vars.*", "TensorFlow caller", 10), (r"B6_nested.*", "TensorFlow caller", 15),
    (r"B8_identity", "TensorFlow default", 20), (r"B8_identity", ORT, 6), (r"B8_identity", "TensorFlow single", 3),
    (r"BMX_.*", "TensorFlow caller", 3), (r"B18_chain_2dev.*", "TensorFlow caller", 15),
    (r"B12_mm_(64|128|256)x.*", "TensorFlow rewriting", 1.5), (r"B15_(resnet50|mobilenet2|bert).*", "TensorFlow rewriting", 1.5),
    (r"B16_.*", "TensorFlow rewriting", 5), (r"B17_train_(mlp|lstm).*", "TensorFlow rewriting", 2),
    (r"B17_train_cnn", "TensorFlow rewriting", 1),
)


def columns_of(arguments, folder):
    """{column: name -> command or None}."""
    def folder_of(package):
        run = subprocess.run([arguments.tensorflow_python, "-c", FIND % package], capture_output=True, text=True)
        return run.stdout.strip() if run.returncode == 0 else None

    ours = arguments.graph_bench or build("//tests/bench:graph_bench")
    theirs = arguments.tensorflow_bench or build("//tests/bench:tensorflow_bench")
    library = os.path.join(folder_of("tensorflow"), "libtensorflow_cc.so.2")
    batches = ["--batches", str(arguments.batches)]

    def files(name, extension=".pb"):
        options = ["--batches", "1", "--batch-ms", "1"] if name.startswith("B10") else batches
        return [os.path.join(folder, name + extension), os.path.join(folder, name + ".side")] + options

    columns = {
        "Sluice": lambda name: [ours] + files(name) + ["--threads", str(arguments.threads)],
    }
    if arguments.graphs:
        columns["simplified"] = lambda name: columns["Sluice"](name) + ["--simplify", "on"]
    else:
        columns["dataflow driver"] = lambda name: [ours] + files(name) + ["--threads", "1", "--driver", "dataflow"]
    for config in MODEL_CONFIGS if arguments.graphs else CONFIGS:
        def tensorflow(name, config=config):
            if config == "default" and not name.startswith("B8"):
                return None  # Its pools' cost of a step; of nodes "pool" says more.
            return [theirs, library] + files(name) + ["--config", config]
        columns[f"TensorFlow {config}"] = tensorflow
    ort_folder = folder_of("onnxruntime")
    if ort_folder is not None:
        ort_bench = arguments.onnxruntime_bench or build("//tests/bench:onnxruntime_bench")
        ort = glob.glob(os.path.join(ort_folder, "capi", "libonnxruntime.so.*"))[0]

        def onnxruntime(name):
            model = onnx_graphs.onnx_bytes(name)
            if model is None:
                return None
            with open(os.path.join(folder, name + ".onnx"), "wb") as file:
                file.write(model)
            return [ort_bench, ort] + files(name, ".onnx")
        columns[ORT] = onnxruntime
    return columns


def table(title, head, rows):
    if not rows:
        return
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def cell(figures, column, median="median", least="min", scale=1.0):
    if column not in figures or not figures[column].has(median):
        return "n/a"
    figure = figures[column]
    return f"{figure.median(median) * scale:.4g} ({figure.least(least) * scale:.4g})"


def ratio(figures, column, key="median"):
    if column not in figures or "Sluice" not in figures:
        return None
    return figures[column].median(key) / figures["Sluice"].median(key)


def goals_of(name, figures):
    texts = []
    for pattern, column, wanted in GOALS:
        reached = ratio(figures, column)
        if re.fullmatch(pattern, name) and reached is not None:
            texts.append(f"{column} {wanted}: {'yes' if reached >= wanted else 'NO'}, {reached:.3g}")
    return "; ".join(texts)


def main_table(results, columns):
    rows = []
    for name, figures in results.items():
        if name.startswith("B10"):
            continue
        mark = "" if all(figure.is_clean for figure in figures.values()) else " ~"
        ratios = [f"{ratio(figures, c):.3g}" if ratio(figures, c) else "n/a" for c in columns[2:]]
        rows.append([name + mark] + [cell(figures, c) for c in columns] + [", ".join(ratios), goals_of(name, figures)])
    head = ["graph"] + [f"{c}, ns" for c in columns] + ["times of the others / ours", "goals"]
    table("Per unit of work", head, rows)


def load_table(results, columns, nodes):
    rows = []
    for name, figures in results.items():
        if name.startswith("B10"):
            scale = 1e6 / nodes[name]
            rows.append([name] + [f"{cell(figures, c, 'to_first_ms', 'to_first_ms', scale)}, "
                                  f"{cell(figures, c, 'peak_mb', 'peak_mb')}" if c in figures else "n/a"
                                  for c in columns])
    table("From the file to the first result", ["graph"] + [f"{c}, ns a node, MB" for c in columns], rows)


def caller_table(results, columns):
    rows = []
    one = results.get("B8_callers_1", {}).get("Sluice")
    for name, figures in results.items():
        if "callers" not in name:
            continue
        growth = "n/a"
        if one is not None and "Sluice" in figures:
            growth = f"{figures['Sluice'].median('cpu_median') / one.median('cpu_median'):.3g} (goal: 1.5 at most)"
        rows.append([name] + [cell(figures, c, "cpu_median", "cpu_min") for c in columns] + [growth])
    table("Processor time per call", ["graph"] + [f"{c}, ns" for c in columns] + ["Sluice / one caller"], rows)


def speed_up_table(results, columns):
    rows = []
    for name, figures in results.items():
        base = next((b for b in (name.replace("_2threads", "_1threads"), name.replace("_2threads", ""))
                     if b != name and b in results), None)
        if base is not None:
            rows.append([name] + [f"{results[base][c].median() / figures[c].median():.3g} "
                                  f"({results[base][c].least() / figures[c].least():.3g})"
                                  if c in figures and c in results[base] else "n/a" for c in columns])
    table("One thread's time / two threads'", ["graph"] + list(columns), rows)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow-python", required=True, help="a Python with tensorflow-cpu (and onnxruntime)")
    parser.add_argument("--graphs", help="a folder with ready graphs")
    parser.add_argument("--only", help="names of graphs that hold this expression")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of Sluice, where the graph does not say")
    parser.add_argument("--graph-bench", help="a built graph_bench, instead of building one")
    parser.add_argument("--tensorflow-bench", help="a built tensorflow_bench")
    parser.add_argument("--onnxruntime-bench", help="a built onnxruntime_bench")
    arguments = parser.parse_args()
    if arguments.only is None:
        arguments.only = "." if arguments.graphs else r"B([1-8]|18)_|B10_load_(1k|10k|100k)|BMX_(16|1024)_(1024|16)$"
    return arguments


def link_graphs(arguments, folder):
    for file in os.listdir(arguments.graphs):
        name, extension = os.path.splitext(file)
        if extension in (".pb", ".side") and re.search(arguments.only, name):
            os.symlink(os.path.abspath(os.path.join(arguments.graphs, file)), os.path.join(folder, file))


def units_of(path):
    with open(path) as file:
        return next(float(line.split()[1]) for line in file if line.startswith("units "))


def main():
    arguments = read_arguments()
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3")
    results, nodes = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        columns = columns_of(arguments, folder)
        if arguments.graphs:
            link_graphs(arguments, folder)
        else:
            subprocess.run([sys.executable, os.path.join(HERE, "graphs.py"), "--out", folder, "--only", arguments.only],
                           check=True)
        names = sorted({os.path.splitext(file)[0] for file in os.listdir(folder)}, key=lambda n: re.sub(
            r"\d+", lambda m: m.group().zfill(8), n))
        for name in names:
            commands = {column: make(name) for column, make in columns.items()}
            results[name] = measure({c: command for c, command in commands.items() if command}, arguments.rounds)
            nodes[name] = units_of(os.path.join(folder, name + ".side"))
            print(f"{name}: " + ", ".join(f"{c} {f.median():.4g}" for c, f in results[name].items()), file=sys.stderr,
                  flush=True)
    names = list(columns)
    main_table(results, names)
    load_table(results, names, nodes)
    caller_table(results, names)
    speed_up_table(results, names)


if __name__ == "__main__":
    main()
