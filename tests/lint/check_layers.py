"""Checks that includes follow the arrows of the design, and that other people's libraries enter where they may."""

import re

import source_tree

# What each layer may include beside itself. A new edge is a change of the design.
ALLOWED = {
    "graph": set(),
    "frames": {"graph"},
    "rendezvous": {"graph"},
    "kernels": {"graph", "rendezvous"},
    "executor": {"graph", "frames", "rendezvous", "kernels"},
    "tools": {"graph", "frames", "rendezvous", "kernels", "executor"},
    # Proof that they stand alone.
    "tests/graph": {"graph", "tests/testing"},
    "tests/frames": {"graph", "frames", "tests/testing"},
    "tests/rendezvous": {"graph", "rendezvous", "tests/testing"},
}

# Inside graph: a directory may include those of lower rank, and itself. proto stands beside base: any but the two
# lowest may use it, for cold messages.
GRAPH_RANKS = {
    "base": 0,
    "proto": 0,
    "wire": 1,
    "value": 2,
    "ir": 3,
    "ops": 4,
    "shapes": 4,
    "edit": 5,
    "functions": 6,
    "placement": 6,
    "gradients": 7,
    "passes": 7,
    "training": 8,
    "load": 8,
}

# Where headers of others may be included; "tests" may include all of these.
THIRD_PARTY = [
    (r"google/protobuf/|.*\.pb\.h$", ["graph", "kernels/proto", "executor", "rendezvous/remote", "tools"]),
    (r"Eigen/|unsupported/Eigen/|dnnl|oneapi/dnnl|hwy/|pocketfft|fftw", ["kernels"]),
    (r"cuda|cublas|cudnn|nccl|cub/|thrust/", ["kernels"]),
    (r"leveldb/|snappy|crc32c/|re2/|unicode/|png\.h|jpeglib\.h|gif_lib\.h", ["kernels"]),
    (r"grpc", ["rendezvous/remote", "executor/distributed"]),
    (r"CLI/|nlohmann/|pybind11/", ["tools"]),
    (r"gtest/|gmock/|benchmark/", ["tools/bazel"]),
]

# Headers with one user: everybody else goes through it.
ONLY_IN = {
    "absl/synchronization/mutex.h": "graph/base/mutex.h",
    "absl/synchronization/notification.h": "graph/base/mutex.h",
    "mutex": "graph/base/mutex.h",
    "shared_mutex": "graph/base/mutex.h",
    "condition_variable": "graph/base/mutex.h",
}

# Abseil's tables and trees break where growing them throws, see Note [Hash tables]. Tools may use them: they end there.
UNSAFE_CONTAINER = re.compile(r"\babsl(::|/container/)((flat|node)_hash|btree)_(map|set)\b")
HASH_TABLE = "graph/base/hash_table.h"


def layer_of(path):
    """"graph", "tests/frames", ...; None for what no rule binds."""
    parts = path.split("/")
    if parts[0] == "tests":
        name = "/".join(parts[:2])
        return name if name in ALLOWED or name == "tests/testing" else "tests"
    return parts[0] if parts[0] in source_tree.LAYERS else None


def is_below(path, folders):
    return any(path.startswith(folder + "/") for folder in folders)


def check_own(path, included):
    """The problem with a file of ours that includes another, or None."""
    layer, target = layer_of(path), layer_of(included)
    if target is None:
        return f"'{included}' is not a path from the root"
    if layer in ALLOWED and target != layer and target not in ALLOWED[layer]:
        return f"{layer} must not include {target} ('{included}')"
    if layer == target == "graph":
        own, other = path.split("/")[1], included.split("/")[1]
        for name in (own, other):
            if name not in GRAPH_RANKS:
                return f"graph/{name} has no rank in check_layers.py"
        if own != other and GRAPH_RANKS[other] >= GRAPH_RANKS[own]:
            return f"graph/{own} must not include graph/{other}"
    return None


def check_foreign(path, included):
    """The problem with a file of ours that includes a header of somebody else's, or None."""
    if included in ONLY_IN and path != ONLY_IN[included] and not path.startswith("tests/"):
        return f"'{included}': use {ONLY_IN[included]}"
    for pattern, places in THIRD_PARTY:
        if re.match(pattern, included) and not is_below(path, places + ["tests"]):
            return f"'{included}' may be included in {', '.join(places + ['tests'])} only"
    return None


def check_containers(tree, path):
    """Problems for containers that do not survive std::bad_alloc."""
    if path == HASH_TABLE or is_below(path, ["tests", "tools"]):
        return []
    return [f"{path}:{number}: '{found.group()}' does not survive std::bad_alloc: use {HASH_TABLE}, std::map or std::set"
            for number, line in tree.lines(path) for found in UNSAFE_CONTAINER.finditer(line)]


def reachable(edges, start):
    seen, pending = set(), list(edges.get(start, ()))
    while pending:
        folder = pending.pop()
        if folder not in seen:
            seen.add(folder)
            pending.extend(edges.get(folder, ()))
    return seen


def check_cycles(edges):
    """Problems for directories that include each other, in a circle of any length."""
    problems, done = [], set()
    for start in sorted(edges):
        circle = sorted(folder for folder in reachable(edges, start) if start in reachable(edges, folder))
        if start in circle and start not in done:
            done.update(circle)
            problems.append(f"{start}: is in a circle of includes: {', '.join(circle)}")
    return problems


def check(tree):
    problems, edges = [], {}
    for path in tree.select(".h", ".cc", ".cu", ".inc"):
        layer, folder = layer_of(path), path.rsplit("/", 1)[0]
        if layer is None:
            continue
        problems += check_containers(tree, path)
        for line, included, angled in tree.includes(path):
            ours = not angled and included.split("/")[0] in source_tree.LAYERS + ["tests"]
            problem = check_own(path, included) if ours else check_foreign(path, included)
            if not problem and included.endswith(".pb.h"):
                problem = check_foreign(path, included)
            if problem:
                problems.append(f"{path}:{line}: {problem}")
            if ours and not path.startswith("tests/") and included.rsplit("/", 1)[0] != folder:
                edges.setdefault(folder, set()).add(included.rsplit("/", 1)[0])
    return problems + check_cycles(edges)


if __name__ == "__main__":
    source_tree.main(check, __doc__)
