#ifndef SLUICE_TESTS_FUZZ_DETERMINED_VALUES_H_
#define SLUICE_TESTS_FUZZ_DETERMINED_VALUES_H_

// Which values of a graph follow from its feeds alone, so that two drivers have to agree on them.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/passes/feed_fetch.h"

namespace sluice {

// Answers for one signature of one graph, which it borrows. A value is determined unless it hangs, through data or
// control inputs, on a stateful op (another answer each time, or one that depends on what ran before), on a Merge (the
// first of several live inputs wins, and a changed graph may well send two), or on a function with such an op in it.
// Fed values are determined. Thread-safety: none.
class DeterminedValues {
 public:
  DeterminedValues(const Graph& graph, const FeedFetchSpec& spec);

  // `endpoint`: a fetch or a target, as the specification writes it.
  bool IsDetermined(absl::string_view endpoint) const;
  // Whether every fetch and target is: then even whether the run ends well is.
  bool AreAllDetermined() const;

 private:
  const Graph& graph_;
  const FeedFetchSpec& spec_;
  std::vector<bool> is_undetermined_;  // By node.
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_DETERMINED_VALUES_H_
