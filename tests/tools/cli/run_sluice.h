#ifndef SLUICE_TESTS_TOOLS_CLI_RUN_SLUICE_H_
#define SLUICE_TESTS_TOOLS_CLI_RUN_SLUICE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// What one run of the `sluice` program gave.
struct RunResult {
  int status = -1;  // Exit status, or 128 + the signal that ended it.
  std::string out;
  std::string err;
};

// Runs tools/cli/sluice with `arguments`; `input` is its standard input. Streams are files, not terminals.
RunResult RunSluice(const std::vector<std::string>& arguments, absl::string_view input = "");

// The same with its standard output going into `command`, a shell command ("head -1"); status is sluice's.
RunResult RunSluiceInto(const std::vector<std::string>& arguments, const std::string& command);

// The same with its standard output going to the file or device at `path`; out stays empty.
RunResult RunSluiceTo(const std::vector<std::string>& arguments, const std::string& path);

// The same; once `text` stands on its standard error, it gets `signal`.
RunResult RunSluiceUntil(const std::vector<std::string>& arguments, absl::string_view input, absl::string_view text,
                         int signal);

// A file of this test's own.
std::string TestFile(const std::string& name);
// Writes `bytes` into TestFile(name); the path.
std::string MakeTestFile(const std::string& name, absl::string_view bytes);
std::string ReadTestFile(const std::string& path);

}  // namespace sluice

#endif  // SLUICE_TESTS_TOOLS_CLI_RUN_SLUICE_H_
