"""The libraries of a directory of kernels: its helpers, and its families, each a file with a table of rows."""

# Loops are vectorised; kernels ask nothing of errno or floating-point traps.
LOOP_COPTS = [
    "-O3",
    "-fno-trapping-math",
    "-ffp-contract=off",  # Multiply-adds stand where the code says so: the same bits in each instruction set.
]

VISIBILITY = [
    "//kernels:__subpackages__",
    "//tests:__subpackages__",
]

# What most files of kernels need.
_COMMON_DEPS = [
    "//graph/base",
    "//graph/value",
    "//kernels",
    "@sys//:absl_core_headers",
    "@sys//:absl_function_ref",
    "@sys//:absl_inlined_vector",
    "@sys//:absl_span",
    "@sys//:absl_status",
    "@sys//:absl_statusor",
    "@sys//:absl_strings",
]

def kernel_library(name, pairs = [], srcs = [], hdrs = [], deps = [], **kwargs):
    """Declares a library of helpers.

    Args:
      name: of the library.
      pairs: "x" stands for x.cc and x.h.
      srcs: sources without a header of their own.
      hdrs: headers without a source.
      deps: what it needs beside the common deps.
      **kwargs: as for cc_library.
    """
    native.cc_library(
        name = name,
        srcs = [pair + ".cc" for pair in pairs] + srcs,
        hdrs = [pair + ".h" for pair in pairs] + hdrs,
        deps = _COMMON_DEPS + deps,
        **kwargs
    )

def kernel_families(names, deps = []):
    """Declares `families`: families.cc, which adds the families to a registry, and NAME.cc of each.

    Args:
      names: of the families.
      deps: what they need beside the common deps.
    """
    kernel_library(
        name = "families",
        pairs = ["families"],
        srcs = [name + ".cc" for name in names],
        copts = LOOP_COPTS,
        deps = deps,
    )
