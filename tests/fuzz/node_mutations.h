#ifndef SLUICE_TESTS_FUZZ_NODE_MUTATIONS_H_
#define SLUICE_TESTS_FUZZ_NODE_MUTATIONS_H_

// Changes of single nodes, in a graph or in the body of a function. Those called Change... leave a sound graph sound
// for the most part; those called Damage... seldom do. All return whether they changed something.

#include <vector>

#include "graph/proto/graph.pb.h"
#include "tests/fuzz/node_scope.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/op_cases.h"

namespace sluice {

// An attr of a random node gets another value of its kind.
bool ChangeAttr(NodeScope& scope, FuzzRandom& random);
// A list input gets shorter, longer or empty, and the attr that counts it with it.
bool ChangeArity(NodeScope& scope, FuzzRandom& random);
// An input comes from elsewhere, with the same type.
bool ChangeInput(NodeScope& scope, FuzzRandom& random);
// A control edge more or less.
bool ChangeControl(NodeScope& scope, FuzzRandom& random);
// An input comes from a new constant.
bool ChangeInputToConst(NodeScope& scope, FuzzRandom& random);
// A node gets another op that takes and gives the same.
bool ChangeOp(NodeScope& scope, const std::vector<OpCase>& ops, FuzzRandom& random);
// A node of any op that has a kernel is added, fed from values of the right types or new constants, and perhaps used.
bool AddOp(NodeScope& scope, const std::vector<OpCase>& ops, FuzzRandom& random);
// Another device, another node to stand with.
bool ChangeDevice(NodeScope& scope, FuzzRandom& random);
// One type takes the place of another in all attrs and constants.
bool ChangeTypes(NodeScope& scope, FuzzRandom& random);
// A node goes, its users take other values of the same types.
bool DropNode(NodeScope& scope, FuzzRandom& random);

// Names, inputs, ops and attrs that cannot be, many control inputs, nodes twice or gone.
bool DamageNode(NodeScope& scope, FuzzRandom& random);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_NODE_MUTATIONS_H_
