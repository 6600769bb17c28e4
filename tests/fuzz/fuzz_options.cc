#include "tests/fuzz/fuzz_options.h"

#include <cstdlib>
#include <iostream>

namespace sluice {
namespace {

constexpr char kHelp[] = R"(usage: FUZZER [--seed N] [--seconds S | --runs N] [--seeds DIR]... [--out DIR]
       FUZZER --replay FILE...
       FUZZER --minimize FILE

  --seed N      the first seed (1); input N is the same in every run with the same directories
  --seconds S   how long (30); --runs N: how many inputs instead
  --seeds DIR   files to start from, beside those that are built in
  --out DIR     where crashers, hangs and remarks are written (.)
  --max-cpu S   processor time of one input beyond which it hangs (30)
  --replay      runs the files in this process, with the sanitizer's report
  --minimize    leaves out of FILE what the crash does not need; writes FILE.min
)";

}  // namespace

FuzzOptions FuzzOptions::Parse(int argc, char** argv) {
  FuzzOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 >= argc) {
      std::cout << kHelp;
      std::exit(2);
    }
    const std::string value = argv[++i];
    if (name == "--seed") {
      options.first_seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::atof(value.c_str());
    } else if (name == "--runs") {
      options.runs = std::strtoull(value.c_str(), nullptr, 10);
      options.seconds = 1e9;
    } else if (name == "--seeds") {
      options.seed_dirs.push_back(value);
    } else if (name == "--out") {
      options.out = value;
    } else if (name == "--max-cpu") {
      options.max_cpu_seconds = std::atof(value.c_str());
    } else if (name == "--minimize") {
      options.minimize = value;
    } else if (name == "--replay") {
      for (options.replay.push_back(value); i + 1 < argc;) options.replay.push_back(argv[++i]);
    } else {
      std::cout << kHelp;
      std::exit(2);
    }
  }
  return options;
}

}  // namespace sluice
