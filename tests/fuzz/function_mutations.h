#ifndef SLUICE_TESTS_FUZZ_FUNCTION_MUTATIONS_H_
#define SLUICE_TESTS_FUZZ_FUNCTION_MUTATIONS_H_

// Changes of function libraries and of calls. All return whether they changed something.

#include "graph/proto/graph.pb.h"
#include "tests/testing/hostile_values.h"

namespace sluice {

// A call takes another function of the library, with the same numbers of arguments and results where there is one.
bool ChangeCallee(proto::GraphDef* graph, FuzzRandom& random);
// A value that a call binds for an attr of its function gets hostile; or an attr in a body becomes a placeholder that
// the calls bind to such a value.
bool ChangeBinding(proto::GraphDef* graph, FuzzRandom& random);
// A result of a function comes from another place in its body.
bool ChangeResult(proto::GraphDef* graph, FuzzRandom& random);
// All nodes but the Placeholders move into the body of a function, attrs of one of them bound by the call.
bool MoveIntoFunction(proto::GraphDef* graph, FuzzRandom& random);

// Bodies emptied, results and arguments gone or twice, functions that call themselves, gradients of nothing.
bool DamageFunction(proto::GraphDef* graph, FuzzRandom& random);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUNCTION_MUTATIONS_H_
