"""The families of kernels in a directory: a file with a table of rows each, all declared in families.h."""

# Loops are vectorised; kernels ask nothing of errno or floating-point traps.
LOOP_COPTS = [
    "-O3",
    "-fno-trapping-math",
    "-ffp-contract=off",  # Multiply-adds stand where the code says so: the same bits in each instruction set.
]

# What most families need.
_COMMON_DEPS = [
    "//graph/base",
    "//kernels",
    "@sys//:absl_span",
    "@sys//:absl_strings",
]

_VISIBILITY = [
    "//kernels:__subpackages__",
    "//tests:__subpackages__",
]

def kernel_families(families):
    """Declares a library for each family, and `families` (families.cc), which adds all of them to a registry.

    Args:
      families: {name of the family and of its file: what it needs beside the common deps}.
    """
    for name, deps in families.items():
        native.cc_library(
            name = name,
            srcs = [name + ".cc"],
            hdrs = ["families.h"],
            copts = LOOP_COPTS,
            visibility = _VISIBILITY,
            deps = {dep: None for dep in _COMMON_DEPS + deps}.keys(),
        )
    native.cc_library(
        name = "families",
        srcs = ["families.cc"],
        hdrs = ["families.h"],
        visibility = _VISIBILITY,
        deps = [":" + name for name in families] + [
            "//kernels",
            "@sys//:absl_span",
        ],
    )
