#include <algorithm>
#include <cmath>
#include <istream>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/executor/tape/hook_program.h"

namespace sluice {
namespace {

bool IsObservation(const std::string& line) {
  return line[0] == '=' || line[0] == '!' || line[0] == '~' || line.substr(0, 3) == "is ";
}

// One program of a file as it is read: lines, and what was observed behind each.
struct Recorded {
  std::string name;
  std::vector<std::pair<std::string, std::vector<std::string>>> steps;
  std::vector<std::string> end;
};

// Words that are numbers may differ by rounding, relative to the largest of the line.
bool SameWords(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() != b.size()) return false;
  double largest = 0;
  for (const std::string& word : a) {
    double number = 0;
    if (absl::SimpleAtod(word, &number)) largest = std::max(largest, std::abs(number));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    double x = 0, y = 0;
    if (a[i] == b[i]) continue;
    if (!absl::SimpleAtod(a[i], &x) || !absl::SimpleAtod(b[i], &y)) return false;
    if (!(std::abs(x - y) <= 1e-9 * largest + 1e-10)) return false;
  }
  return true;
}

// Where a program's observations differ from the recorded ones; empty: nowhere.
std::string FirstDifference(const Recorded& recorded) {
  Tape tape;
  HookProgram program(tape);
  const auto compare = [](const std::string& line, const std::vector<std::string>& seen,
                          const std::vector<std::string>& expected) -> std::string {
    for (size_t i = 0; i < std::max(seen.size(), expected.size()); ++i) {
      const std::string found = i < seen.size() ? seen[i] : "nothing",
                        wanted = i < expected.size() ? expected[i] : "nothing";
      if (!SameObservation(found, wanted)) return absl::StrCat(line, "\n  PyTorch: ", wanted, "\n  here:    ", found);
    }
    return "";
  };
  for (const auto& [line, expected] : recorded.steps) {
    std::string difference = compare(line, program.Run(line), expected);
    if (!difference.empty()) return difference;
  }
  return compare("the end", program.Finish(), recorded.end);
}

}  // namespace

bool SameObservation(const std::string& a, const std::string& b) {
  if (a == b) return true;
  // Each digest on its own: shape, two sums, whether it requires a gradient.
  const std::vector<std::string> words_a = absl::StrSplit(a, ' '), words_b = absl::StrSplit(b, ' ');
  if (a[0] == '~' && b[0] == '~') return SameWords(words_a, words_b);
  if (words_a.size() != words_b.size()) return false;
  for (size_t i = 0; i < words_a.size(); ++i) {
    if (!SameWords(absl::StrSplit(words_a[i], ':'), absl::StrSplit(words_b[i], ':'))) return false;
  }
  return true;
}

HookProgramReport RunHookPrograms(std::istream& file) {
  HookProgramReport report;
  Recorded recorded;
  const auto run = [&] {
    if (recorded.name.empty()) return;
    ++report.num_programs;
    const std::string difference = FirstDifference(recorded);
    if (!difference.empty()) report.differences.push_back(absl::StrCat(recorded.name, ": ", difference));
  };
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line.substr(0, 7) == "program") {
      run();
      recorded = Recorded();
      recorded.name = line;
    } else if (line.substr(0, 3) == "is ") {
      recorded.end.push_back(line);
    } else if (IsObservation(line) && !recorded.steps.empty()) {
      report.num_hook_calls += line[0] == '!' ? 1 : 0;
      report.num_errors += line[0] == '=' ? 1 : 0;
      recorded.steps.back().second.push_back(line);
    } else {
      ++report.num_lines;
      recorded.steps.push_back({line, {}});
    }
  }
  run();
  return report;
}

}  // namespace sluice
