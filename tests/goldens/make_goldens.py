"""Makes every case of tests/goldens with real TensorFlow 2.19 (CPU). Development only.

Usage: make_goldens.py [MODULE ...]   modules: errors loads graphs models calls effects random custom programs
(default: all)
Exits with 1, and says why, when TensorFlow does not answer as a case says.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import importlib
import shutil

import tensorflow as tf

import golden_case

# Which suites each module of cases makes.
MODULES = {
    "errors": ["errors"],
    "loads": ["loads"],
    "graphs": ["ops", "control_flow", "functions", "state", "gradients"],
    "models": ["formats", "inspect", "saved_model"],
    "calls": ["call_state"],
    "effects": ["effects"],
    "random": ["random"],
    "custom": ["custom_gradients"],
    "programs": ["programs"],
}


def main(args):
    assert tf.__version__.startswith("2.19."), tf.__version__
    for module in args or MODULES:
        for suite in MODULES[module]:
            shutil.rmtree(os.path.join(golden_case.ROOT, suite), ignore_errors=True)
        importlib.import_module("cases_" + module).main()
    print("\n".join(golden_case.problems), file=sys.stderr)
    return 1 if golden_case.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
