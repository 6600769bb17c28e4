#ifndef SLUICE_GRAPH_FUNCTIONS_CALL_STATE_NAMES_H_
#define SLUICE_GRAPH_FUNCTIONS_CALL_STATE_NAMES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/functions/attr_binding.h"
#include "graph/functions/call_states.h"

namespace sluice {

// Names for the instances of functions in one plan (Note [State of calls] in call_states.h), whose numbers depend on
// what was inlined first. A name is made from what identifies the instance, so it is the same in every plan of a graph
// and in every process: checkpoints contain it. Not thread-safe; complete when the plan is made.
class CallStateNames {
 public:
  // Makes a name for `function` with its attrs; `how` distinguishes the ways in which it is called. Short, printable,
  // without '/'.
  static std::string Make(absl::string_view how, const BoundFunction& function);

  // Names `instance`, which CallStates::Enter has given for a call in `from`.
  void Add(const CallStates::Scope& from, bool by_call_op, const BoundFunction& function, int32_t instance);
  // `key`, by which a store knows a node of an instance, with the instance's name in the place of its number. Other
  // keys stay as they are.
  std::string WithName(absl::string_view key) const;

 private:
  std::map<int32_t, std::string> names_;
  std::set<std::string> taken_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_CALL_STATE_NAMES_H_
