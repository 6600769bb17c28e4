#include "tools/cli/conform/conform_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

const char* WhenName(ExpectedError::When when) {
  switch (when) {
    case ExpectedError::When::kLoad:
      return "load";
    case ExpectedError::When::kAny:
      return "any";
    case ExpectedError::When::kRun:
      return "run";
  }
  return "run";
}

}  // namespace

bool CaseResult::passed() const {
  return std::all_of(steps.begin(), steps.end(), [](const StepResult& step) { return step.passed; });
}

void ConformReport::Add(const CaseResult& result) {
  Count& suite = suites_[result.suite];
  for (Count* count : {&total_, &suite}) {
    ++count->cases;
    count->passed += result.passed() ? 1 : 0;
  }
  for (const StepResult& step : result.steps) {
    Count& error = errors_[WhenName(step.when)];
    for (Count* count : {&total_, &suite, &error}) {
      if (count == &error && !step.expects_error) continue;
      ++count->steps;
      count->steps_passed += step.passed ? 1 : 0;
    }
    if (!step.passed) failures_.push_back({result.name, step.step, step.code, step.why});
  }
  for (const std::string& op : result.unsupported_ops) ++unsupported_ops_[op];
}

std::vector<std::string> ConformReport::Summary() const {
  std::vector<std::string> lines;
  for (const auto& suite : suites_) {
    const Count& count = suite.second;
    lines.push_back(absl::StrCat(suite.first, ": ", count.passed, " of ", count.cases, " cases, ", count.steps_passed,
                                 " of ", count.steps, " steps"));
  }
  for (const auto& error : errors_) {
    if (error.second.steps == 0) continue;
    lines.push_back(absl::StrCat("errors due at ", error.first == "any" ? "load or run" : error.first, ": ",
                                 error.second.steps_passed, " of ", error.second.steps, " steps"));
  }
  return lines;
}

std::string ConformReport::ClosingLine() const {
  return absl::StrCat(total_.passed, " passed, ", total_.cases - total_.passed, " failed");
}

nlohmann::ordered_json ConformReport::ToJson() const {
  nlohmann::ordered_json document = {{"cases", total_.cases},
                                     {"passed", total_.passed},
                                     {"failed", total_.cases - total_.passed},
                                     {"steps", total_.steps},
                                     {"steps_passed", total_.steps_passed}};
  document["suites"] = nlohmann::ordered_json::object();
  for (const auto& suite : suites_) {
    document["suites"][suite.first] = {{"cases", suite.second.cases},
                                       {"passed", suite.second.passed},
                                       {"steps", suite.second.steps},
                                       {"steps_passed", suite.second.steps_passed}};
  }
  document["error_steps"] = nlohmann::ordered_json::object();
  for (const auto& error : errors_) {
    document["error_steps"][error.first] = {{"steps", error.second.steps}, {"steps_passed", error.second.steps_passed}};
  }
  document["failures"] = nlohmann::ordered_json::array();
  for (const Failure& failure : failures_) {
    document["failures"].push_back(
        {{"case", failure.case_name}, {"step", failure.step}, {"code", failure.code}, {"why", failure.why}});
  }
  document["unsupported_ops"] = unsupported_ops_;
  return document;
}

}  // namespace sluice
