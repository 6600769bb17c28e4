"""First and second gradients of random programs that were wrong once, or refused; see record_programs.py."""

import argparse
import os
import random
import sys

import golden_case

sys.path.append(os.path.join(golden_case.ROOT, "..", "executor", "gradients"))
import record_programs  # noqa: E402

# Seeds, and what their programs show.
PROGRAMS = {
    11000227: "replaced_variable",
    11000225: "replaced_by_zeros",
    11000070: "second_of_loop",
    11000125: "variable_in_branches",
    11000200: "second_of_loops",
    11000099: "case",
    11000107: "case_of_mixed_ways",
    11000036: "empty_array",
    11000142: "case_in_conditional",
    11000124: "first_of_loop",
}


def main():
    args = argparse.Namespace(parts=7, feeds=3)
    for seed, name in PROGRAMS.items():
        frames = random.Random(seed).random() < 0.5
        record_programs.record(os.path.join(golden_case.ROOT, "programs", name), seed, frames, args)
