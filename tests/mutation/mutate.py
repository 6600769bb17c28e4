"""Changes the sources in small ways and looks whether a test notices. Called by tests/mutation/mutate; see README.md.

All mutants of a run are built at once: each stands in its source beside the original and is chosen by a number in the
environment. A mutant is killed when a test of its room fails, or exceeds its limits, with it.
"""

import argparse
import concurrent.futures
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lint"))

import build_files  # noqa: E402  (of tests/lint)
import mutant_build  # noqa: E402
import mutant_runs  # noqa: E402
import source_tree  # noqa: E402  (of tests/lint)

ROOMS = ["graph/base", "graph/edit", "graph/functions", "graph/gradients", "graph/ir", "graph/load", "graph/ops",
         "graph/passes", "graph/placement", "graph/shapes", "graph/value", "graph/wire", "kernels", "kernels/array",
         "kernels/checkpoint", "kernels/control", "kernels/device", "kernels/fft", "kernels/image", "kernels/io",
         "kernels/layout", "kernels/linalg", "kernels/lists", "kernels/math", "kernels/memory", "kernels/nn",
         "kernels/norm", "kernels/optimizers", "kernels/parsing", "kernels/plugin", "kernels/pool", "kernels/proto",
         "kernels/queues", "kernels/ragged", "kernels/random", "kernels/reduce", "kernels/resources", "kernels/rnn",
         "kernels/sequence", "kernels/sparse", "kernels/state", "kernels/step", "kernels/strings", "kernels/tables",
         "kernels/transfer", "executor", "executor/compiled", "executor/functions", "executor/saved_model",
         "executor/serial", "executor/session", "executor/tape", "executor/trace", "frames", "rendezvous", "tools/cli"]
# Rooms with tests in directories of others.
ALSO_TESTED_BY = {
    "executor/functions": ["executor/session"], "graph/gradients": ["executor/gradients"],
    "kernels/resources": ["kernels/state"], "kernels/step": ["kernels/state"],
    "kernels/transfer": ["executor/session", "executor/streams"]}
EXPLAINED = os.path.join(HERE, "explained.txt")


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/mutation/mutate", description=__doc__.split("\n")[0],
                                     epilog="Rooms: " + " ".join(ROOMS))
    parser.add_argument("--room", action="append", default=[], help="a directory, or file; default: all rooms")
    parser.add_argument("--limit", type=int, default=40, help="mutants of each room (default 40; 0: all)")
    parser.add_argument("--files", type=int, default=0, metavar="N",
                        help="change N sources of each room: faster to build (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="chooses which (default 1)")
    parser.add_argument("--headers", action="store_true", help="change headers, too: all that includes them is built")
    parser.add_argument("--tests", action="append", default=[],
                        help="further test targets, as //tests/executor/... (default: the tests of the room)")
    parser.add_argument("--list", action="store_true", help="print the mutants that would be made, and build nothing")
    parser.add_argument("--out", metavar="DIR", help="write survivors to DIR/ROOM.txt as they are found")
    parser.add_argument("--scratch", metavar="DIR", help="the copy that is built (default: below ~/.cache/sluice)")
    parser.add_argument("--bazel", default="bazel", help="the command to build with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="try N mutants at a time (default: one for each processor)")
    return parser.parse_args()


def sources_of(room, files, with_headers):
    endings = (".cc", ".h") if with_headers else (".cc",)
    return [path for path in files if path.endswith(endings) and (path == room or path.startswith(room + "/"))]


def choose(candidates, limit, random_source):
    """A sample, in the order of the sources. Its kinds are as frequent as among all."""
    if limit == 0 or len(candidates) <= limit:
        return candidates
    return [candidates[i] for i in sorted(random_source.sample(range(len(candidates)), limit))]


def read_explained(path=EXPLAINED):
    """{change: reason} of the mutants that no test can, or should, kill: a line "CHANGE  # REASON" each."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").rpartition("  # ") for line in file if line.strip() and not line.startswith("#")]
    return {change.strip(): reason for change, _, reason in lines}


def key_of(mutant):
    """What a mutant is called in explained.txt: no line numbers, which change."""
    path, _, rest = mutant.describe().partition(":")
    return path + ":" + rest.partition(":")[2]


class Room:
    """One directory: its mutants, its tests, and what became of the mutants."""

    def __init__(self, name):
        self.name = name
        self.mutants = []
        self.tests = []
        self.killed, self.reached = 0, 0
        self.survivors = []  # (mutant, tests that reach it)

    def find_mutants(self, finder, files, arguments):
        """Returns what there is to say of it."""
        candidates, chance = [], random.Random(f"{arguments.seed} {self.name}")
        for path in choose(sources_of(self.name, files, arguments.headers), arguments.files, chance):
            candidates += finder.find(path)
        chosen = choose(candidates, arguments.limit, chance)
        for path in sorted({mutant.path for mutant in chosen}):
            self.mutants += finder.compilable(path, [mutant for mutant in chosen if mutant.path == path])
        return (f"{self.name}: {len(self.mutants)} of {len(candidates)} possible mutants; "
                f"{len(chosen) - len(self.mutants)} more do not compile")

    def labels_of_tests(self, workspace, further):
        """The tests of the room, and those given by patterns, that are built from a source with mutants."""
        folder = self.name if not self.name.endswith((".cc", ".h")) else os.path.dirname(self.name)
        labels = []
        for tests in [folder, *ALSO_TESTED_BY.get(folder, [])]:
            labels += workspace.below(f"tests/{tests}/", {"cc_test"})
        for pattern in further:
            place = pattern.lstrip("/")
            if place.endswith("/..."):
                labels += workspace.below(place[:-len("...")], {"cc_test"})
            else:
                labels.append(build_files.resolve(pattern, ""))
        changed = {mutant.path for mutant in self.mutants}
        return sorted({label for label in labels if changed & workspace.closure([label])[1]})

    def describe(self):
        unseen = sum(1 for _, tests in self.survivors if tests == 0)
        return (f"{self.name}: {len(self.mutants)} mutants, {self.reached} reached, {self.killed} killed, "
                f"{len(self.survivors)} survive ({unseen} of them not reached)")


def find_in_room(room, root, generated, files, arguments):
    """In a process of its own: (the room's mutants, what there is to say)."""
    import find_mutants  # Needs libclang, which the help does not.
    said = room.find_mutants(find_mutants.Finder(root, generated), files, arguments)
    return room.mutants, said


def find_all(rooms, copy, arguments):
    generated = [copy.folder_of_outputs(), copy.folder_of_outputs(ROOT)]
    with concurrent.futures.ProcessPoolExecutor(max(1, arguments.jobs)) as pool:
        found = [pool.submit(find_in_room, room, copy.root, generated, copy.files, arguments) for room in rooms]
        for room, future in zip(rooms, found):
            room.mutants, said = future.result()
            say(said)


def make_tests(room, workspace, outputs, copy_root, further):
    """The test programs of a room; what they read is in their runfiles."""
    tests = []
    for label in room.labels_of_tests(workspace, further):
        folder, _, name = label.lstrip("/").partition(":")
        arguments = build_files.flatten(workspace.targets[label].attributes.get("args"))
        paths = [argument.replace("$(location //", "").replace(":", "/").rstrip(")") for argument in arguments]
        tests.append(mutant_runs.Test(label, os.path.join(outputs, folder, name), paths, copy_root))
    return tests


def run_room(room, explained, out, pool):
    """Tries every mutant of a room. Survivors are printed, and written to a file, at once."""
    report = open(os.path.join(out, room.name.replace("/", "_") + ".txt"), "w", encoding="utf-8") if out else None
    outcomes = pool.map(lambda mutant: mutant_runs.killer_of(mutant, room.tests), room.mutants)
    for mutant, (killer, reaching) in zip(room.mutants, outcomes):
        room.reached += reaching > 0
        if killer is not None:
            room.killed += 1
            continue
        room.survivors.append((mutant, reaching))
        reason = explained.get(key_of(mutant))
        note = f"explained: {reason}" if reason else f"reached by {reaching} tests" if reaching else "not reached"
        for stream in filter(None, (sys.stdout, report)):
            print(f"{mutant.describe()}  [{note}]", file=stream, flush=True)
    print(room.describe(), flush=True)
    if report:
        print(room.describe(), file=report)
        report.close()


def build_rooms(rooms, copy, workspace, arguments, pool):
    """Builds all mutants at once, measures the tests, and leaves each room what compiles."""
    mutants = [mutant for room in rooms for mutant in room.mutants]
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    targets = sorted({label for room in rooms for label in room.labels_of_tests(workspace, arguments.tests)})
    say(f"building {len(mutants)} mutants into {len(targets)} tests")
    compiled = set(mutant_build.build(copy, mutants, targets, say))
    outputs, measured = copy.folder_of_outputs(), {}
    for room in rooms:
        room.mutants = [mutant for mutant in room.mutants if mutant in compiled]
        for test in make_tests(room, workspace, outputs, copy.root, arguments.tests):
            measured.setdefault(test.label, test)
            room.tests.append(measured[test.label])
    good = mutant_runs.measure_all(list(measured.values()), len(mutants), say, pool)
    for room in rooms:
        room.tests = [test for test in good if test in room.tests]


def main():
    arguments = parse_arguments()
    tree = source_tree.SourceTree(ROOT)
    workspace = build_files.Workspace(tree)
    rooms = [Room(name.rstrip("/")) for name in arguments.room or ROOMS]
    for room in rooms:
        if not sources_of(room.name, tree.files, arguments.headers):
            sys.exit(f"mutate: there are no sources in '{room.name}'")
    default = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sluice", "mutation")
    copy = mutant_build.Copy(ROOT, arguments.scratch or default, arguments.bazel.split())
    find_all(rooms, copy, arguments)
    if arguments.list:
        for room in rooms:
            print("\n".join(mutant.describe() for mutant in room.mutants))
        return
    if arguments.out:
        os.makedirs(arguments.out, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        build_rooms(rooms, copy, workspace, arguments, pool)
        for room in rooms:
            run_room(room, read_explained(), arguments.out, pool)
    total = [sum(len(room.mutants) for room in rooms), sum(room.reached for room in rooms),
             sum(room.killed for room in rooms), sum(len(room.survivors) for room in rooms)]
    print("all: %d mutants, %d reached, %d killed, %d survive" % tuple(total))


if __name__ == "__main__":
    main()
