#ifndef SLUICE_GRAPH_FUNCTIONS_CALL_STATES_H_
#define SLUICE_GRAPH_FUNCTIONS_CALL_STATES_H_

// Which calls of functions share the state of the kernels in their bodies.
//
// Note [State of calls]
// Kernels may keep state from run to run: the numbers that a random generator has given, the lines that Print has
// written. Calls share such a kernel as they do in TensorFlow's session (tests/goldens/call_state), whether the call
// stays or is inlined:
//   - The body of a plain function stands in the place of each call, with state of its own, which the session keeps
//     under the names of the nodes, call path included.
//   - A function that TensorFlow does not inline has one instance, whose state all calls of it share: `_noinline`
//     functions, and the functions of an If, a Case or a While that is not marked _lower_using_switch_merge. The state
//     is the signature's: another one begins anew.
//   - The instances within a `_noinline` function that is called by PartitionedCall or StatefulPartitionedCall are its
//     own: those of the same functions outside of it are others. An If, a Case, a While and a direct call do not tell
//     instances apart in this way, but one that they make is not that of a PartitionedCall.
// So an instance is identified by the instance around it, by how it is called, and by the function with its attrs.
// While a plan is made, instances are numbers. A node in an inlined instance carries an attr that says which it is in,
// and the name that it has there; a call that stays carries the number of what it calls.
// A resource without a name of its own (a VarHandleOp, say) has that of its node, in an instance the name there.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/functions/attr_binding.h"

namespace sluice {

// The instances of functions in one plan. Not thread-safe; lives while the plan is made.
class CallStates {
 public:
  // Of a node with state in an inlined instance: "3/u", the instance and the name there.
  static constexpr absl::string_view kNodeAttr = "_state_of_call";
  // Of a call that stays: the instance that it calls.
  static constexpr absl::string_view kCallAttr = "_state_of_callee";

  // Where a node stands.
  struct Scope {
    int32_t around = 0;    // The instance that tells those of its calls apart; 0: the graph.
    int32_t instance = 0;  // The instance that it is in; 0: the graph.
    size_t prefix = 0;     // Of its name: what comes before the name in the instance.
  };

  CallStates() : arounds_(1, 0) {}
  CallStates(const CallStates&) = delete;
  CallStates& operator=(const CallStates&) = delete;

  // The instance of `function` that a call in `from` calls. `by_call_op`: by PartitionedCall or
  // StatefulPartitionedCall.
  Scope Enter(const Scope& from, bool by_call_op, const BoundFunction& function);
  // The result of Enter for this instance. The graph's for numbers that it has not given.
  Scope ScopeOf(int64_t instance) const;

  // The prefix of the names under which nodes of the instance are known.
  static std::string KeyOf(int32_t instance);
  // The value of kNodeAttr for a node called `name` in `scope`.
  static std::string NodeKey(const Scope& scope, absl::string_view name);
  // The name in such a value.
  static absl::string_view NameIn(absl::string_view node_key);

 private:
  std::map<std::tuple<int32_t, bool, std::string>, int32_t> numbers_;
  std::vector<int32_t> arounds_;  // By instance: what is around the calls in it.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_CALL_STATES_H_
