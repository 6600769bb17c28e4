#include "graph/ir/runnable_check.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr int kMany = -1;

// How many inputs and outputs the nodes of a class have; kMany: one at least.
struct Arity {
  OpClass op_class;
  int inputs;
  int outputs;
};

constexpr Arity kArities[] = {
    {OpClass::kConst, 0, 1},          {OpClass::kArg, 0, 1},
    {OpClass::kRetval, 1, 0},         {OpClass::kSwitch, 2, 2},
    {OpClass::kSwitchN, 2, kMany},    {OpClass::kMerge, kMany, 2},
    {OpClass::kEnter, 1, 1},          {OpClass::kExit, 1, 1},
    {OpClass::kNextIteration, 1, 1},  {OpClass::kLoopCond, 1, 1},
    {OpClass::kGradSum, kMany, 1},    {OpClass::kSend, 1, 0},
    {OpClass::kRecv, 0, 1},           {OpClass::kHostSend, 1, 0},
    {OpClass::kHostRecv, 0, 1},       {OpClass::kNoOp, 0, 0},
    {OpClass::kControlTrigger, 0, 0},
};

absl::Status CheckCount(absl::string_view what, size_t found, int wanted) {
  if (wanted == kMany ? found > 0 : found == static_cast<size_t>(wanted)) return absl::OkStatus();
  return Error(ErrorCode::kInputCount)
      .Text(absl::StrCat("has a number of ", what, " that executors cannot treat as this op"))
      .Found(absl::StrCat(found))
      .Expected(wanted == kMany ? "at least 1" : absl::StrCat(wanted));
}

absl::Status CheckArity(OpClass op_class, const Signature& signature) {
  const auto* const arity = std::find_if(std::begin(kArities), std::end(kArities),
                                         [&](const Arity& row) { return row.op_class == op_class; });
  if (arity != std::end(kArities)) {
    SLUICE_RETURN_IF_ERROR(CheckCount("inputs", signature.inputs.size(), arity->inputs));
    SLUICE_RETURN_IF_ERROR(CheckCount("outputs", signature.outputs.size(), arity->outputs));
  }
  switch (op_class) {
    case OpClass::kForward:
      return CheckCount("outputs", signature.outputs.size(), static_cast<int>(signature.inputs.size()));
    case OpClass::kSwitch:
    case OpClass::kSwitchN: {
      const DType wanted = op_class == OpClass::kSwitch ? DType::kBool : DType::kInt32;
      if (BaseType(signature.inputs[1]) == wanted) return absl::OkStatus();
      return Error(ErrorCode::kInputType)
          .Input(1)
          .Text("chooses the output and has the wrong type")
          .Found(DTypeName(signature.inputs[1]))
          .Expected(DTypeName(wanted));
    }
    default:
      return absl::OkStatus();
  }
}

// The type of the real and the imaginary part; kInvalid when `type` is not complex.
DType PartType(DType type) {
  switch (BaseType(type)) {
    case DType::kComplex64:
      return DType::kFloat;
    case DType::kComplex128:
      return DType::kDouble;
    default:
      return DType::kInvalid;
  }
}

// The first output must hold the parts of the first input.
absl::Status OutputHoldsParts(const Signature& signature) {
  const DType wanted = PartType(signature.inputs[0]);
  if (signature.outputs[0] == wanted) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr("Tout")
      .Text(absl::StrCat("is not the type of the parts of ", DTypeName(BaseType(signature.inputs[0]))))
      .Found(DTypeName(signature.outputs[0]))
      .Expected(DTypeName(wanted));
}

absl::Status InputHoldsParts(const Signature& signature) {
  const DType wanted = PartType(signature.outputs[0]);
  if (BaseType(signature.inputs[0]) == wanted) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr("T")
      .Text(absl::StrCat("is not the type of the parts of ", DTypeName(signature.outputs[0])))
      .Found(DTypeName(BaseType(signature.inputs[0])))
      .Expected(DTypeName(wanted));
}

absl::Status OneTypeForEachResource(const Signature& signature) {
  if (signature.inputs.size() == signature.outputs.size()) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr("dtypes")
      .Text("does not have one type for each resource")
      .Found(absl::StrCat(signature.outputs.size(), " types"))
      .Expected(absl::StrCat(signature.inputs.size()));
}

// Imag, Real, Angle, ComplexAbs: Tout is the type of the parts of T. Complex: T is that of the parts of Tout.
// _ReadVariablesOp: as many dtypes as resources.
struct Rule {
  absl::string_view op;
  size_t num_inputs;  // At least; the rule looks at them.
  absl::Status (*check)(const Signature& signature);
};

constexpr Rule kRules[] = {
    {"Angle", 1, &OutputHoldsParts}, {"Complex", 1, &InputHoldsParts}, {"ComplexAbs", 1, &OutputHoldsParts},
    {"Imag", 1, &OutputHoldsParts},  {"Real", 1, &OutputHoldsParts},   {"_ReadVariablesOp", 0, &OneTypeForEachResource},
};

// Rules between attrs of one op that no AttrSpec can state: each attr is right, but together they mean nothing, and
// TensorFlow has no kernel for them or refuses to make it. kAttrValue naming the attr at fault. OK for all other ops.
absl::Status CheckAttrAgreement(absl::string_view op, const Signature& signature) {
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules), [op](const Rule& row) { return row.op == op; });
  if (rule == std::end(kRules)) return absl::OkStatus();
  // An op of a host may have the name.
  if (signature.inputs.size() < rule->num_inputs || (rule->num_inputs > 0 && signature.outputs.empty())) {
    return absl::OkStatus();
  }
  return rule->check(signature);
}

// Lives for one CheckRunnable.
class RunnableChecker {
 public:
  RunnableChecker(const Graph& graph, ErrorCollector* errors) : graph_(graph), errors_(errors) {}

  absl::Status Run() {
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph_.Contains(id)) continue;
      const absl::Status& kind = CheckKind(id);
      if (ABSL_PREDICT_FALSE(!kind.ok())) SLUICE_RETURN_IF_ERROR(Report(id, kind));
      // An error of the node itself may be the cause of its edges' errors.
      if (kind.ok() && ABSL_PREDICT_FALSE(!HasGoodEdges(id))) SLUICE_RETURN_IF_ERROR(Report(id, EdgeError(id)));
    }
    return absl::OkStatus();
  }

 private:
  using Kind = std::pair<const OpSchema*, const Signature*>;

  absl::Status Report(NodeId id, const absl::Status& status) {
    if (errors_ == nullptr) return graph_.Locate(id, status);
    errors_->Add(graph_.Locate(id, status));
    return absl::OkStatus();
  }

  // 1 and 2 of the note. A signature says all about the attrs that decide it, and all others were checked when the node
  // got them, so that one look for each op and signature is enough.
  const absl::Status& CheckKind(NodeId id) {
    const Kind kind(&graph_.op(id), &graph_.signature(id));
    if (kind == last_kind_) return *last_verdict_;
    const auto [known, is_new] = verdicts_.try_emplace(kind);
    if (is_new) known->second = std::make_unique<absl::Status>(Judge(id));
    last_kind_ = kind;
    last_verdict_ = known->second.get();
    return *last_verdict_;
  }

  absl::Status Judge(NodeId id) const {
    const OpSchema& op = graph_.op(id);
    for (const AttrSpec& spec : op.attrs) {
      const AttrType element = ElementType(spec.type);
      if (element == AttrType::kTensor || element == AttrType::kFunc) continue;  // Decide no arity; may be large.
      AttrView value;
      if (!graph_.FindAttr(id, spec.name, &value)) continue;
      SLUICE_RETURN_IF_ERROR(WithAttr(CheckAttr(spec, value, LoadLimits()), spec.name));
    }
    SLUICE_RETURN_IF_ERROR(CheckArity(op.op_class, graph_.signature(id)));
    return CheckAttrAgreement(op.name, graph_.signature(id));
  }

  // 3 of the note; EdgeError says what is wrong.
  bool HasGoodEdges(NodeId id) const {
    const std::vector<DType>& types = graph_.signature(id).inputs;
    const absl::Span<const Output> inputs = graph_.inputs(id);
    if (inputs.size() != types.size()) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsGood(inputs[i], types[i])) return false;
    }
    for (const Output& control : graph_.controls(id)) {
      if (!graph_.Contains(control.node)) return false;
    }
    return true;
  }

  bool IsGood(const Output& input, DType wanted) const {
    if (!graph_.Contains(input.node)) return false;
    const std::vector<DType>& outputs = graph_.signature(input.node).outputs;
    const size_t index = static_cast<size_t>(input.index);  // Of a control edge: huge.
    return index < outputs.size() &&
           (outputs[index] == wanted || (IsRef(outputs[index]) && BaseType(outputs[index]) == wanted));
  }

  absl::Status EdgeError(NodeId id) const {
    const std::vector<DType>& types = graph_.signature(id).inputs;
    const absl::Span<const Output> inputs = graph_.inputs(id);
    if (inputs.size() != types.size()) {
      return Error(ErrorCode::kInputCount)
          .Text("has the wrong number of inputs")
          .Found(absl::StrCat(inputs.size()))
          .Expected(absl::StrCat(types.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsGood(inputs[i], types[i])) return InputError(static_cast<int32_t>(i), inputs[i], types[i]);
    }
    return Error(ErrorCode::kInputUnknown).Text("waits for a node that was removed from the graph");
  }

  absl::Status InputError(int32_t i, const Output& input, DType wanted) const {
    if (!input.is_set()) {
      return Error(ErrorCode::kInputCount).Input(i).Text("is not connected").Expected(DTypeName(wanted));
    }
    if (!graph_.Contains(input.node)) {
      return Error(ErrorCode::kInputUnknown).Input(i).Text("comes from a node that was removed from the graph");
    }
    if (input.is_control() || input.index >= graph_.num_outputs(input.node)) {
      return Error(ErrorCode::kInputSlot)
          .Input(i, graph_.OutputName(input))
          .Text("names an output that is not there")
          .Found(absl::StrCat("slot ", input.index))
          .Expected(absl::StrCat("a slot below ", graph_.num_outputs(input.node)));
    }
    const DType found = graph_.output_type(input.node, input.index);
    const bool needs_ref = IsRef(wanted) && BaseType(wanted) == found;
    return Error(needs_ref ? ErrorCode::kInputRef : ErrorCode::kInputType)
        .Input(i, graph_.OutputName(input))
        .Text(needs_ref ? "is a value where a reference is needed" : "has the wrong type")
        .Found(DTypeName(found))
        .Expected(DTypeName(wanted));
  }

  const Graph& graph_;
  ErrorCollector* const errors_;
  HashMap<Kind, std::unique_ptr<absl::Status>> verdicts_;
  Kind last_kind_;
  const absl::Status* last_verdict_ = nullptr;
};

}  // namespace

absl::Status CheckRunnable(const Graph& graph, ErrorCollector* errors) { return RunnableChecker(graph, errors).Run(); }

absl::Status CheckAttrMinimums(const NodeProperties& node) {
  for (const AttrSpec& spec : node.op().attrs) {
    AttrView value;
    if (!spec.has_minimum || !node.FindAttr(spec.name, &value)) continue;
    const absl::Status status = CheckAttr(spec, value, LoadLimits());
    if (!status.ok()) return node.Locate(WithAttr(status, spec.name));
  }
  return absl::OkStatus();
}

}  // namespace sluice
