#include "tools/cli/draw/op_family.h"

#include "absl/strings/match.h"

namespace sluice {
namespace {

// The first rule whose word is in the op's name (at its start for `at_start`) decides.
struct Rule {
  absl::string_view word;
  bool at_start;
  OpFamily family;
};

constexpr Rule kRules[] = {
    {"Placeholder", true, OpFamily::kInput},
    {"_Arg", true, OpFamily::kInput},
    {"Iterator", false, OpFamily::kInput},
    {"Dataset", false, OpFamily::kInput},
    {"Const", true, OpFamily::kConstant},
    {"PartitionedCall", false, OpFamily::kCall},
    {"StatefulIf", true, OpFamily::kControl},
    {"StatelessIf", true, OpFamily::kControl},
    {"StatelessWhile", true, OpFamily::kControl},
    {"StatelessCase", true, OpFamily::kControl},
    {"SymbolicGradient", true, OpFamily::kCall},
    {"RemoteCall", true, OpFamily::kCall},
    {"Variable", false, OpFamily::kState},
    {"VarHandle", true, OpFamily::kState},
    {"VarIsInitialized", true, OpFamily::kState},
    {"Assign", true, OpFamily::kState},
    {"Apply", false, OpFamily::kState},
    {"ResourceScatter", true, OpFamily::kState},
    {"ResourceGather", true, OpFamily::kState},
    {"Save", true, OpFamily::kState},
    {"Restore", true, OpFamily::kState},
    {"Queue", false, OpFamily::kState},
    {"Table", false, OpFamily::kState},
    {"TensorArray", true, OpFamily::kState},
    {"Stack", true, OpFamily::kState},
    {"Enter", true, OpFamily::kControl},
    {"RefEnter", true, OpFamily::kControl},
    {"Exit", true, OpFamily::kControl},
    {"Switch", true, OpFamily::kControl},
    {"RefSwitch", true, OpFamily::kControl},
    {"Merge", true, OpFamily::kControl},
    {"NextIteration", true, OpFamily::kControl},
    {"LoopCond", true, OpFamily::kControl},
    {"While", true, OpFamily::kControl},
    {"Case", true, OpFamily::kControl},
    {"NoOp", true, OpFamily::kControl},
    {"ControlTrigger", true, OpFamily::kControl},
    {"Assert", true, OpFamily::kControl},
    {"Conv", false, OpFamily::kNetwork},
    {"Pool", false, OpFamily::kNetwork},
    {"BatchNorm", false, OpFamily::kNetwork},
    {"BiasAdd", true, OpFamily::kNetwork},
    {"Relu", false, OpFamily::kNetwork},
    {"Elu", true, OpFamily::kNetwork},
    {"Selu", true, OpFamily::kNetwork},
    {"Softmax", false, OpFamily::kNetwork},
    {"Sigmoid", true, OpFamily::kNetwork},
    {"LRN", true, OpFamily::kNetwork},
    {"LSTM", false, OpFamily::kNetwork},
    {"GRU", true, OpFamily::kNetwork},
    {"CTC", true, OpFamily::kNetwork},
    {"MatMul", false, OpFamily::kNetwork},
    {"Einsum", true, OpFamily::kNetwork},
    {"CrossEntropy", false, OpFamily::kNetwork},
    {"Reshape", true, OpFamily::kArray},
    {"Shape", false, OpFamily::kArray},
    {"Transpose", true, OpFamily::kArray},
    {"Concat", true, OpFamily::kArray},
    {"Split", true, OpFamily::kArray},
    {"Slice", false, OpFamily::kArray},
    {"Gather", true, OpFamily::kArray},
    {"Scatter", false, OpFamily::kArray},
    {"Pack", true, OpFamily::kArray},
    {"Unpack", true, OpFamily::kArray},
    {"Pad", false, OpFamily::kArray},
    {"Tile", true, OpFamily::kArray},
    {"Squeeze", true, OpFamily::kArray},
    {"ExpandDims", true, OpFamily::kArray},
    {"Identity", true, OpFamily::kArray},
    {"Cast", true, OpFamily::kArray},
    {"Fill", true, OpFamily::kArray},
    {"Range", true, OpFamily::kArray},
    {"Rank", true, OpFamily::kArray},
    {"Size", true, OpFamily::kArray},
    {"OneHot", true, OpFamily::kArray},
    {"Broadcast", true, OpFamily::kArray},
    {"Zeros", true, OpFamily::kArray},
    {"Ones", true, OpFamily::kArray},
    {"Dynamic", true, OpFamily::kArray},
    {"Reverse", true, OpFamily::kArray},
    {"TensorList", true, OpFamily::kArray},
    {"StopGradient", true, OpFamily::kArray},
    {"Where", true, OpFamily::kArray},
    {"Add", true, OpFamily::kMath},
    {"Bias", true, OpFamily::kMath},
    {"Sub", true, OpFamily::kMath},
    {"Mul", true, OpFamily::kMath},
    {"Div", false, OpFamily::kMath},
    {"Mod", false, OpFamily::kMath},
    {"Exp", true, OpFamily::kMath},
    {"Log", true, OpFamily::kMath},
    {"Sqrt", false, OpFamily::kMath},
    {"Square", true, OpFamily::kMath},
    {"Sum", true, OpFamily::kMath},
    {"Mean", true, OpFamily::kMath},
    {"Max", true, OpFamily::kMath},
    {"Min", true, OpFamily::kMath},
    {"Prod", true, OpFamily::kMath},
    {"Pow", true, OpFamily::kMath},
    {"Tanh", true, OpFamily::kMath},
    {"Neg", true, OpFamily::kMath},
    {"Abs", true, OpFamily::kMath},
    {"Greater", true, OpFamily::kMath},
    {"Less", true, OpFamily::kMath},
    {"Equal", false, OpFamily::kMath},
    {"Select", true, OpFamily::kMath},
    {"Floor", true, OpFamily::kMath},
    {"Round", true, OpFamily::kMath},
    {"Logical", true, OpFamily::kMath},
    {"Arg", true, OpFamily::kMath},
    {"Reciprocal", false, OpFamily::kMath},
    {"Random", false, OpFamily::kMath},
    {"Cum", true, OpFamily::kMath},
    {"TopK", true, OpFamily::kMath},
};

struct FamilyRow {
  absl::string_view name;
  absl::string_view color;
};

// By number of the family. Hues far enough apart to tell on white and on black.
constexpr FamilyRow kFamilies[kNumOpFamilies] = {
    {"input", "#2e9e5b"}, {"constant", "#9aa5b1"}, {"state", "#e08a1e"}, {"control", "#d64550"}, {"call", "#c2499a"},
    {"math", "#3b7dd8"},  {"network", "#7a5cd0"},  {"array", "#17a2a2"}, {"other", "#6b7785"},
};

}  // namespace

OpFamily OpFamilyOf(absl::string_view op) {
  if (op == "If") return OpFamily::kControl;
  for (const Rule& rule : kRules) {
    if (rule.at_start ? absl::StartsWith(op, rule.word) : absl::StrContains(op, rule.word)) return rule.family;
  }
  return OpFamily::kOther;
}

absl::string_view OpFamilyName(OpFamily family) { return kFamilies[static_cast<size_t>(family)].name; }
absl::string_view OpFamilyColor(OpFamily family) { return kFamilies[static_cast<size_t>(family)].color; }

}  // namespace sluice
