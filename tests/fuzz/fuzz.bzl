"""One fuzz target: a regression test that everybody runs, and a libFuzzer program that is built on demand."""

def fuzz_target(name, src, deps):
    """Declares <name>_test (over corpus/<name>) and <name>_fuzzer (manual; needs --config=fuzz).

    Args:
      name: what is fuzzed; also the name of its directory in corpus/.
      src: the file that defines LLVMFuzzerTestOneInput.
      deps: of that file.
    """
    native.cc_library(
        name = name,
        testonly = True,
        srcs = [src],
        deps = deps + [":fuzz_target"],
        alwayslink = True,
    )
    native.cc_test(
        name = name + "_test",
        size = "medium",
        srcs = ["regression_test.cc"],
        data = native.glob(["corpus/" + name + "/*"]),
        env = {"SLUICE_FUZZ_CORPUS": "tests/fuzz/corpus/" + name},
        deps = [
            ":" + name,
            ":fuzz_target",
            "//tests/corpus:mutator",
            "@sys//:gtest_main",
        ],
    )
    native.cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = [":" + name],
    )
