#ifndef SLUICE_TESTS_STRESS_OP_SWEEP_H_
#define SLUICE_TESTS_STRESS_OP_SWEEP_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/session/session.h"
#include "graph/passes/feed_fetch.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/guard_allocator.h"
#include "tests/testing/op_cases.h"

namespace sluice {

// What a sweep did.
struct SweepCounts {
  int64_t graphs = 0, refused = 0;           // Graphs made; those that load or prepare refused.
  int64_t runs = 0, ok = 0, errors = 0;      // Steps.
  int64_t calls = 0;                         // Kernels of the swept ops that were called.
  int64_t cases = 0, cases_ok = 0;           // Ops with a choice of types; those that accepted some inputs as they are.
  std::set<std::string> ops;                 // Swept, but for those of the next line.
  std::set<std::string> without_kernel;      // Carried out by the propagators: no kernel of theirs is ever called.
  std::set<std::string> ops_called, ops_ok;  // Whose kernel was called; in a step that ended well.
  std::map<std::string, std::string> last_errors;  // Of each op.
  std::vector<std::string> complaints;             // Errors that do not name a node, memory left over.
};

// Runs one op in every way that its schema allows: see op_sweep_test.cc. Borrows the counts. Not thread-safe.
class OpSweep {
 public:
  explicit OpSweep(SweepCounts* counts);

  // The case as it is, with each int attr at each extreme and each list empty, in each place, under both drivers: with
  // inputs that it accepts, with one of these replaced, with inputs of all kinds.
  void Sweep(const OpCase& op_case);

 private:
  struct Step;

  absl::Status Prepare(const OpCase& op_case, OpPlace place, Driver driver, Step* step);
  absl::Status RunStep(const Step& step, const std::vector<Tensor>& inputs, CallOptions call);
  void FindAccepted(const OpCase& op_case);
  void SweepPlaces(const OpCase& op_case);
  void SweepInputs(const OpCase& op_case, const Step& step);
  std::vector<std::vector<Tensor>> AllInputs(absl::Span<const FeedFetchGraph::Port> feeds);
  void CheckError(const OpCase& op_case, const absl::Status& status, bool at_run);

  SweepCounts& counts_;
  GuardAllocator guard_;
  TrackingAllocator allocator_;
  std::set<std::string> complained_;  // Ops: one complaint each.
  std::vector<Tensor> accepted_;      // Inputs that the case takes as it is; empty where none were found.
};

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_OP_SWEEP_H_
