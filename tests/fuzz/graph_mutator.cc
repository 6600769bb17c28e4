#include "tests/fuzz/graph_mutator.h"

#include "tests/corpus/mutator.h"
#include "tests/fuzz/function_mutations.h"
#include "tests/fuzz/node_mutations.h"
#include "tests/graph/ir/fixed_order.h"

namespace sluice {
namespace {

// -1: the graph itself; else a function of the library.
int AnyScope(const proto::GraphDef& graph, FuzzRandom& random) {
  const int count = graph.library().function_size();
  return count == 0 || random.OneIn(3) ? -1 : random.Int(count);
}

}  // namespace

GraphMutator::GraphMutator() : ops_(AllOpCases()) {}

bool GraphMutator::ChangeNodes(NodeScope& scope, FuzzRandom& random) const {
  switch (random.Int(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return ChangeAttr(scope, random);
    case 4:
      return ChangeArity(scope, random);
    case 5:
    case 6:
    case 7:
      return ChangeInput(scope, random);
    case 8:
      return ChangeControl(scope, random);
    case 9:
      return ChangeInputToConst(scope, random);
    case 10:
      return ChangeOp(scope, ops_, random);
    case 11:
    case 12:
      return AddOp(scope, ops_, random);
    case 13:
      return ChangeDevice(scope, random);
    case 14:
      return random.OneIn(2) && ChangeTypes(scope, random);
    default:
      return random.OneIn(2) && DropNode(scope, random);
  }
}

bool GraphMutator::ChangeOnce(proto::GraphDef* graph, FuzzRandom& random) const {
  switch (random.Int(12)) {
    case 0:
      return ChangeCallee(graph, random);
    case 1:
      return ChangeBinding(graph, random);
    case 2:
      return ChangeResult(graph, random);
    case 3:
      return random.OneIn(2) && MoveIntoFunction(graph, random);
    default: {
      NodeScope scope(graph, AnyScope(*graph, random));
      return ChangeNodes(scope, random);
    }
  }
}

bool GraphMutator::DamageOnce(proto::GraphDef* graph, FuzzRandom& random) const {
  if (random.OneIn(20)) graph->mutable_versions()->set_producer(random.Int(3000));
  if (random.OneIn(20)) graph->mutable_versions()->set_min_consumer(static_cast<int>(HostileInt(random)));
  if (random.OneIn(3) && DamageFunction(graph, random)) return true;
  NodeScope scope(graph, AnyScope(*graph, random));
  return DamageNode(scope, random);
}

std::string GraphMutator::Mutate(const proto::GraphDef& graph, FuzzRandom& random) const {
  proto::GraphDef changed = graph;
  const bool is_damaged = random.OneIn(4);
  int wanted = 1 + random.Int(random.OneIn(4) ? 8 : 3);
  if (random.OneIn(40)) wanted = 0;
  for (int attempt = 0; attempt < 40 && wanted > 0; ++attempt) wanted -= ChangeOnce(&changed, random) ? 1 : 0;
  if (is_damaged && !random.OneIn(4)) {
    for (int n = 1 + random.Int(2); n > 0; --n) (void)DamageOnce(&changed, random);
  }
  std::string bytes = InFixedOrder(changed);
  if (is_damaged && random.OneIn(4)) {
    const Mutator mutator(bytes);
    const auto seed = static_cast<uint32_t>(random.Next());
    bytes = random.OneIn(2) ? mutator.MutateTree(seed) : mutator.Mutate(seed);
  }
  return bytes;
}

}  // namespace sluice
