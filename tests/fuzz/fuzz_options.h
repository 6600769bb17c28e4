#ifndef SLUICE_TESTS_FUZZ_FUZZ_OPTIONS_H_
#define SLUICE_TESTS_FUZZ_FUZZ_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

// The command line of a fuzzer.
struct FuzzOptions {
  uint64_t first_seed = 1;
  double seconds = 30;
  uint64_t runs = UINT64_MAX;
  std::vector<std::string> seed_dirs;
  std::string out = ".";
  double max_cpu_seconds = 30, max_wall_seconds = 240;  // For one input; beyond it hangs.
  std::vector<std::string> replay;
  std::string minimize;

  // Reads the command line; ends the process with a help text where it cannot.
  static FuzzOptions Parse(int argc, char** argv);
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUZZ_OPTIONS_H_
