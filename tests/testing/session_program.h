#ifndef SLUICE_TESTS_TESTING_SESSION_PROGRAM_H_
#define SLUICE_TESTS_TESTING_SESSION_PROGRAM_H_

// Random structured programs (random_program.h) as sessions run them, on one device or several.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session_options.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

// Arguments become placeholders "x0", "x1", ..., whose values for a seed are RandomArguments'.
absl::Status ArgumentsToPlaceholders(Graph* graph);
std::vector<std::pair<std::string, Tensor>> PlaceholderValues(const Graph& graph, uint32_t seed);
// The endpoints that a program returns.
std::vector<std::string> ResultsOf(const Graph& graph);
// One of `count` CPU devices for each node that shares no variable with others: those are kept together by the placer,
// and when a value is read that crosses from a reference, control edges do not say.
void SpreadOverDevices(uint32_t seed, int count, Graph* graph);
// The same over devices with these names.
void SpreadOverDevices(uint32_t seed, const std::vector<std::string>& devices, Graph* graph);

// What a step answered: the value, or the error, whose code counts.
struct Answer {
  absl::Status status;
  Tensor value;

  explicit Answer(absl::StatusOr<std::vector<Tensor>> found)
      : status(found.status()), value(found.ok() ? std::move((*found)[0]) : Tensor()) {}
  bool operator==(const Answer& other) const {
    if (status.code() != other.status.code() || value.has_value() != other.value.has_value()) return false;
    return !value.has_value() || (value.shape() == other.value.shape() && value.bytes() == other.value.bytes());
  }
};

// Every result of a program by itself, in a session with `options`, twice: the second time variables have values of the
// first. The session must be possible.
std::vector<Answer> AnswersOf(const Graph& graph, uint32_t seed, const SessionOptions& options);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_SESSION_PROGRAM_H_
