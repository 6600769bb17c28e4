#ifndef SLUICE_TESTS_STRESS_OP_SWEEP_H_
#define SLUICE_TESTS_STRESS_OP_SWEEP_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/guard_allocator.h"
#include "tests/testing/op_cases.h"

namespace sluice {

// What a sweep did.
struct SweepCounts {
  int64_t graphs = 0, refused = 0;           // Graphs made; those that load or prepare refused.
  int64_t runs = 0, ok = 0, errors = 0;      // Steps.
  int64_t calls = 0;                         // Kernels of the swept ops that were called.
  std::set<std::string> ops;                 // Swept.
  std::set<std::string> ops_called, ops_ok;  // Whose kernel was called; in a step that ended well.
  std::vector<std::string> complaints;       // Errors that do not name a node, memory left over.
};

// Runs one op in every way that its schema allows: see op_sweep_test.cc. Borrows the counts. Not thread-safe.
class OpSweep {
 public:
  explicit OpSweep(SweepCounts* counts);

  // The case as it is, with each int attr at each extreme and each list empty, in each place, under both drivers, with
  // inputs of all kinds.
  void Sweep(const OpCase& op_case);

 private:
  void Run(const OpCase& op_case);
  void RunPlaced(const OpCase& op_case, OpPlace place);
  void RunSession(const OpCase& op_case, const OpGraph& made, const Graph& graph, Driver driver);
  void CheckError(const OpCase& op_case, const absl::Status& status, bool at_run);

  SweepCounts& counts_;
  GuardAllocator guard_;
  TrackingAllocator allocator_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_OP_SWEEP_H_
