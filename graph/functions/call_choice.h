#ifndef SLUICE_GRAPH_FUNCTIONS_CALL_CHOICE_H_
#define SLUICE_GRAPH_FUNCTIONS_CALL_CHOICE_H_

// Decides which calls of functions are replaced by bodies, and which stay calls.
//
// Note [Called or inlined]
// An inlined body adds its nodes to the graph once per call, and runs together with the nodes around it, on several
// threads if there are any. A called body is compiled once and runs by itself, on one thread. The choice must not
// change values, deadness, the order of effects or progress, so a call may stay only if none of these can differ:
//   1. The body, with all that it calls, is plain: no control flow but functional (If, Case, While), nothing that
//      waits (transfers), no references, no device asked for, no function bound at the call, nothing unknown.
//   2. No argument of the call may be dead or late: it does not come after primitive control flow or a transfer, nor
//      after or in a body that has some, and the same holds of the calls around it. An inlined body would begin with
//      the arguments that are there. (Kernels of hosts that wait are found when they are made: see executor/functions.)
//   3. Of a branch that is lowered only what is needed of each result runs: see Note [Effects that nothing reads] in
//      needed_parts.h. A call of it runs as a whole, so none stays that has effects.
//   4. A body in which kernels keep state is called if it is marked `_noinline`, and inlined otherwise, whatever it
//      costs. Whether calls share that state does not depend on the choice: see Note [State of calls] in call_states.h.
// If both are possible, `_noinline` functions are called, and so are functions that would add too many nodes (nodes of
// the body times calls). Equal graphs get equal choices.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/ir/function_library.h"
#include "graph/ir/graph.h"

namespace sluice {

enum class CallPolicy : uint8_t {
  kByCost,  // See Note [Called or inlined].
  kInline,  // No call stays.
  kCall,    // All stay that can.
};

// Chooses the functions of a graph that stay calls. Looks at those that the graph reaches, by name. Immutable after
// construction; keeps the definitions that it has seen. Thread-safe.
class CallChoice {
 public:
  // Bodies with at least this many nodes are called where all of their calls would add more nodes than kMaxInlined.
  static constexpr double kMinBody = 32;
  static constexpr double kMaxInlined = 65'536;

  // `keeps_state`: whether kernels of an op keep state from run to run, of their own or under the names of their nodes.
  // Used only in the constructor.
  using KeepsState = absl::FunctionRef<bool(const OpSchema& op)>;
  CallChoice(const Graph& graph, CallPolicy policy, KeepsState keeps_state);
  CallChoice(const CallChoice&) = delete;
  CallChoice& operator=(const CallChoice&) = delete;

  // Whether calls of the function stay, unless their arguments may be dead or late.
  bool IsCalled(absl::string_view function) const;
  // Whether kernels keep state in the body of `function`, or in what it calls, as far as can be told.
  bool MayKeepState(absl::string_view function) const;
  // Whether the body of `function`, or what it calls, has stateful nodes, as far as can be told.
  bool MayHaveEffects(absl::string_view function) const;
  // Whether the body of `function` runs the same nodes however it is called (Note [Effects that nothing reads] in
  // needed_parts.h): neither it nor what it calls has stateful nodes, conditionals or loops, as far as can be told.
  bool RunsTheSame(absl::string_view function) const;
  // The functions that the body of `function` calls, one for each call.
  std::vector<absl::string_view> CalleesOf(absl::string_view function) const;
  bool CallsAny() const { return calls_any_; }

  // Returns, by id, the nodes of `graph` for which `begins` is true and all nodes after them. Linear.
  static std::vector<bool> FindNodesAfter(const Graph& graph, absl::FunctionRef<bool(NodeId id)> begins);
  // Those after primitive control flow or a transfer, which may stand in the bodies that `graph` calls.
  std::vector<bool> FindLateNodes(const Graph& graph) const;
  // Whether the body of `function`, with all that it calls, has some, as far as can be told. True for functions that
  // were not looked at.
  bool MakesLate(absl::string_view function) const;

 private:
  struct Facts {
    std::shared_ptr<const FunctionDefinition> definition;
    std::vector<size_t> callees;  // One for each call.
    double num_nodes = 0;         // When all is inlined.
    double num_calls = 0;         // As often as its body would be inlined.
    bool is_plain = true;
    bool makes_late = false;
    bool keeps_state = false;
    bool has_effects = false;
    bool runs_the_same = true;
    bool is_marked = false;  // _noinline
    bool is_called = false;
  };

  class Collector;

  // Whether calls of it may stay, as far as the function itself tells.
  static bool MayStay(const Facts& facts) { return facts.is_plain && (!facts.keeps_state || facts.is_marked); }
  // Adds up what the bodies cost and hold, callees first.
  void SumUp();
  // Decides, callers first: a call in a body that is called counts once.
  void Choose(CallPolicy policy);

  std::vector<Facts> functions_;
  std::vector<size_t> order_;  // Callees before callers.
  std::vector<size_t> roots_;  // What the graph itself calls, one for each call.
  HashMap<std::string, size_t> index_;
  bool calls_any_ = false;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_CALL_CHOICE_H_
