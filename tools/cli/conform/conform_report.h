#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_REPORT_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_REPORT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/cli/conform/conform_case.h"

namespace sluice {

// The outcome of one step.
struct StepResult {
  std::string step;
  bool passed = false;
  std::string code;  // Canonical code of the answer: "OK", "NOT_FOUND", ...
  std::string why;   // Why it failed; one line.
  bool expects_error = false;
  ExpectedError::When when = ExpectedError::When::kRun;  // Of the expected error.
};

// The outcome of one case, which passes if every step does.
struct CaseResult {
  std::string name, suite;
  std::vector<StepResult> steps;
  std::set<std::string> unsupported_ops;  // Ops that the case needs and that have no kernel here.

  bool passed() const;
};

// Counts results. Not thread-safe.
class ConformReport {
 public:
  void Add(const CaseResult& result);

  int64_t cases() const { return total_.cases; }
  int64_t passed() const { return total_.passed; }
  // "errors: 95 of 283 cases, 130 of 300 steps" for each suite, and for errors by when they are due, in order of name.
  std::vector<std::string> Summary() const;
  // "2 passed, 1 failed".
  std::string ClosingLine() const;
  // The document of DESIGN 10.1, with steps that expect errors counted by when these are due ("error_steps").
  nlohmann::ordered_json ToJson() const;

 private:
  struct Count {
    int64_t cases = 0, passed = 0, steps = 0, steps_passed = 0;
  };
  struct Failure {
    std::string case_name, step, code, why;
  };

  Count total_;
  std::map<std::string, Count> suites_;
  std::map<std::string, Count> errors_;  // "load", "any", "run": steps only.
  std::vector<Failure> failures_;
  std::map<std::string, int64_t> unsupported_ops_;  // Cases that need the op.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_REPORT_H_
