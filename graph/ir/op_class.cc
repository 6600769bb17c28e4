#include "graph/ir/op_class.h"

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

struct Row {
  absl::string_view op;
  OpClass op_class;
};

// In ascending order.
constexpr Row kRows[] = {
    {"Case", OpClass::kCase},
    {"Const", OpClass::kConst},
    {"ControlTrigger", OpClass::kControlTrigger},
    {"Enter", OpClass::kEnter},
    {"Exit", OpClass::kExit},
    {"GradSum", OpClass::kGradSum},
    {"HostConst", OpClass::kConst},
    {"Identity", OpClass::kForward},
    {"IdentityN", OpClass::kForward},
    {"If", OpClass::kIf},
    {"LoopCond", OpClass::kLoopCond},
    {"Merge", OpClass::kMerge},
    {"NextIteration", OpClass::kNextIteration},
    {"NoOp", OpClass::kNoOp},
    {"PartitionedCall", OpClass::kCall},
    {"PlaceholderWithDefault", OpClass::kForward},
    {"PreventGradient", OpClass::kForward},
    {"Recv", OpClass::kRecv},
    {"RefEnter", OpClass::kEnter},
    {"RefExit", OpClass::kExit},
    {"RefIdentity", OpClass::kForward},
    {"RefMerge", OpClass::kMerge},
    {"RefNextIteration", OpClass::kNextIteration},
    {"RefSwitch", OpClass::kSwitch},
    {"RemoteCall", OpClass::kCall},
    {"Send", OpClass::kSend},
    {"StatefulPartitionedCall", OpClass::kCall},
    {"StatelessCase", OpClass::kCase},
    {"StatelessIf", OpClass::kIf},
    {"StatelessWhile", OpClass::kWhile},
    {"StopGradient", OpClass::kForward},
    {"Switch", OpClass::kSwitch},
    {"SymbolicGradient", OpClass::kCall},
    {"While", OpClass::kWhile},
    {"_Arg", OpClass::kArg},
    {"_HostRecv", OpClass::kHostRecv},
    {"_HostSend", OpClass::kHostSend},
    {"_Recv", OpClass::kRecv},
    {"_Retval", OpClass::kRetval},
    {"_Send", OpClass::kSend},
    {"_SwitchN", OpClass::kSwitchN},
};

}  // namespace

OpClass OpClassOf(absl::string_view op) {
  const auto* const row = std::lower_bound(std::begin(kRows), std::end(kRows), op,
                                           [](const Row& r, absl::string_view name) { return r.op < name; });
  return row != std::end(kRows) && row->op == op ? row->op_class : OpClass::kOther;
}

}  // namespace sluice
