// Development: runs the programs of files that torch_hook_programs.py has written, and prints where the tape and
// PyTorch differ.   bazel run //tests/executor/tape:play_hook_programs -- $PWD/programs.txt

#include <cstdio>
#include <fstream>

#include "tests/executor/tape/hook_program.h"

int main(int argc, char** argv) {
  bool is_equal = argc > 1;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    const sluice::HookProgramReport report = sluice::RunHookPrograms(file);
    for (const std::string& difference : report.differences) std::printf("%s\n", difference.c_str());
    std::printf("%s: %d programs, %d lines, %d calls of hooks and functions, %d errors: %zu programs differ\n", argv[i],
                report.num_programs, report.num_lines, report.num_hook_calls, report.num_errors,
                report.differences.size());
    is_equal = is_equal && report.num_programs > 0 && report.differences.empty();
  }
  return is_equal ? 0 : 1;
}
