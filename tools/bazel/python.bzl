"""Tests written in Python, run by the system's python3."""

def python_test(name, main, data = [], args = [], tags = [], size = "small"):
    """A test that passes when `python3 main args` ends with status 0. It counts as one case.

    Args:
      name: of the test.
      main: the script. Modules beside it can be imported without being named.
      data: files it reads.
      args: after the script's path.
      tags: as everywhere.
      size: as everywhere.
    """
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//tools/bazel:run_python.sh"],
        args = ["$(location %s)" % main] + args,
        data = [main] + data,
        tags = tags,
    )
