#ifndef SLUICE_TESTS_EXECUTOR_TAPE_HOOK_PROGRAM_H_
#define SLUICE_TESTS_EXECUTOR_TAPE_HOOK_PROGRAM_H_

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/tape/tape.h"

namespace sluice {

// Runs the lines of one program that torch_machine.py has run in PyTorch, and writes down the same observations in the
// same words. The language is in README.md.
class HookProgram {
 public:
  using Words = std::vector<std::string>;

  explicit HookProgram(Tape& tape) : tape_(tape) {}
  HookProgram(const HookProgram&) = delete;
  HookProgram& operator=(const HookProgram&) = delete;

  // What is observed while a line runs.
  std::vector<std::string> Run(const std::string& line);
  // What is observed of the variables in the end.
  std::vector<std::string> Finish();

 private:
  absl::Status Do(const Words& words);
  absl::Status DoValue(const Words& words, bool* is_known);
  absl::Status DoAssignment(const Words& words, bool* is_known);
  absl::Status DoGradient(const Words& words, bool* is_known);
  absl::Status DoHook(const Words& words, bool* is_known);
  absl::Status Bind(const std::string& slot, Var var);
  absl::Status ApplyFunction(const Words& words);
  absl::Status Backward(const Words& words);
  absl::Status Grad(const Words& words);
  absl::StatusOr<HookHandle> AddHook(const std::string& slot, const std::string& name, Words action);
  // Var() for a hook that leaves the gradient.
  absl::StatusOr<Var> Act(const std::string& name, absl::Span<const std::string> action, Var x);
  absl::Status ActOnSlot(absl::Span<const std::string> action);
  absl::StatusOr<std::vector<Var>> ActOnAll(const std::string& name, absl::Span<const std::string> action,
                                            absl::Span<const Var> grads);
  absl::StatusOr<Var> InnerPass(const Var& x);

  Var& At(const std::string& slot) { return vars_[std::stoi(slot)]; }
  std::vector<Var> ListOf(const std::string& words);
  std::vector<Var> SeedsOf(const std::string& words, bool creates_graph);
  NodeRef NodeOf(const std::string& word);
  void Note(const std::string& name, absl::Span<const Var> grads);
  std::string SumOfGrads();

  Tape& tape_;
  std::map<int, Var> vars_;
  std::map<std::string, HookHandle> handles_;
  std::map<std::string, NodeRef> nodes_;
  std::vector<std::string> seen_;
  bool records_ = true;
  int depth_ = 0;
};

// Whether two observations are equal but for the rounding of numbers.
bool SameObservation(const std::string& a, const std::string& b);

// Runs all programs of `file`. Returns those that differ, each as its first line and where the first difference is.
struct HookProgramReport {
  int num_programs = 0, num_lines = 0, num_hook_calls = 0, num_errors = 0;
  std::vector<std::string> differences;
};
HookProgramReport RunHookPrograms(std::istream& file);

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_TAPE_HOOK_PROGRAM_H_
