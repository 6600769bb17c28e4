#include "graph/functions/call_site.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

bool HoldsFunctions(const AttrSpec& spec) { return ElementType(spec.type) == AttrType::kFunc; }

// Adds attr and node to what went wrong with a callee.
absl::Status AtCallee(const Graph& graph, NodeId id, const Callee& callee, const absl::Status& status) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return graph.Locate(id, status);
  if (info->attr.empty()) info->attr = std::string(callee.attr);
  info->function.clear();  // The node at fault is the caller's, not one of the callee's body.
  return graph.Locate(id, MakeError(*info));
}

// What a callee of a node must take and give.
struct Contract {
  absl::Span<const DType> args;
  absl::Span<const DType> results;
  bool one_result = false;  // One value of any type, instead of `results`.
};

Contract ContractOf(const Graph& graph, NodeId id, CallKind kind, absl::string_view attr) {
  const Signature& signature = graph.signature(id);
  Contract contract{signature.inputs, signature.outputs, false};
  if (kind == CallKind::kIf || kind == CallKind::kCase) contract.args.remove_prefix(1);
  if (kind == CallKind::kWhile) contract.one_result = attr == "cond";
  return contract;
}

std::string TypesText(absl::Span<const DType> types) {
  if (types.size() > 8) return absl::StrCat(types.size(), " tensors");
  std::string text = "(";
  for (size_t i = 0; i < types.size(); ++i) absl::StrAppend(&text, i > 0 ? ", " : "", DTypeName(types[i]));
  return text + ")";
}

bool SameTypes(absl::Span<const DType> a, absl::Span<const DType> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](DType x, DType y) { return BaseType(x) == BaseType(y); });
}

// The first difference of two lists of types that differ: their lengths, or one element.
ErrorBuilder Mismatch(CallKind kind, absl::string_view function, absl::string_view what, absl::Span<const DType> found,
                      absl::Span<const DType> expected) {
  const bool branches = kind == CallKind::kIf || kind == CallKind::kCase || kind == CallKind::kWhile;
  return Error(branches ? ErrorCode::kBranchMismatch : ErrorCode::kFunctionArity)
      .Text(absl::StrCat("names function '", PrintableName(function), "', whose ", what, " differ from the node's"))
      .Found(TypesText(found))
      .Expected(TypesText(expected));
}

absl::Status CheckContract(CallKind kind, const Contract& contract, const BoundFunction& function) {
  const Signature& signature = function.signature;
  if (!SameTypes(signature.inputs, contract.args)) {
    return Mismatch(kind, function.name(), "arguments", signature.inputs, contract.args);
  }
  if (contract.one_result) {
    if (signature.outputs.size() == 1) return absl::OkStatus();
    return Error(ErrorCode::kBranchMismatch)
        .Text(absl::StrCat("names function '", PrintableName(function.name()), "', which has not one result"))
        .Found(TypesText(signature.outputs))
        .Expected("one value");
  }
  if (!SameTypes(signature.outputs, contract.results)) {
    return Mismatch(kind, function.name(), "results", signature.outputs, contract.results);
  }
  return absl::OkStatus();
}

// Whether functions of the node are looked for only in a run: those of a conditional or loop that is not marked to be
// lowered.
bool IsLookedForLate(const Graph& graph, NodeId id, CallKind kind) {
  if (kind != CallKind::kIf && kind != CallKind::kCase && kind != CallKind::kWhile) return false;
  AttrView mark;
  if (!graph.FindAttr(id, "_lower_using_switch_merge", &mark)) return true;
  const absl::StatusOr<bool> is_lowered = mark.AsBool();
  return !is_lowered.ok() || !*is_lowered;
}

}  // namespace

CallKind CallKindOf(absl::string_view op) {
  switch (OpClassOf(op)) {
    case OpClass::kIf:
      return CallKind::kIf;
    case OpClass::kCase:
      return CallKind::kCase;
    case OpClass::kWhile:
      return CallKind::kWhile;
    case OpClass::kCall:
      if (op == "SymbolicGradient") return CallKind::kGradient;
      return op == "RemoteCall" ? CallKind::kOther : CallKind::kCall;
    default:
      return CallKind::kNone;
  }
}

CallKind CallFinder::Classify(const OpSchema& op) const {
  if (graph_.library().FindSchema(op.name) == &op) return CallKind::kDirect;
  if (const CallKind kind = CallKindOf(op.name); kind != CallKind::kNone) return kind;
  return std::any_of(op.attrs.begin(), op.attrs.end(), HoldsFunctions) ? CallKind::kOther : CallKind::kNone;
}

CallKind CallFinder::KindOf(NodeId id) {
  const OpSchema& op = graph_.op(id);
  if (&op == last_op_) return last_kind_;
  last_op_ = &op;
  const auto found = kinds_.find(&op);
  return last_kind_ = found != kinds_.end() ? found->second : kinds_[&op] = Classify(op);
}

absl::StatusOr<std::vector<Callee>> CallFinder::Callees(NodeId id) {
  std::vector<Callee> callees;
  const CallKind kind = KindOf(id);
  if (kind == CallKind::kDirect) {
    callees.push_back(Callee{"", graph_.op_name(id), graph_.attrs(id)});
    return callees;
  }
  if (kind == CallKind::kNone) return callees;
  for (const AttrSpec& spec : graph_.op(id).attrs) {
    if (!HoldsFunctions(spec)) continue;
    SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(id, spec.name));
    std::vector<FuncView> functions;
    if (IsListType(spec.type)) {
      SLUICE_ASSIGN_OR_RETURN(functions, value.AsFuncList());
    } else {
      SLUICE_ASSIGN_OR_RETURN(FuncView function, value.AsFunc());
      functions.push_back(std::move(function));
    }
    for (const FuncView& function : functions) callees.push_back({spec.name, function.name, function.attrs});
  }
  return callees;
}

absl::StatusOr<std::vector<BoundFunction>> BindCallees(const Graph& graph, NodeId id, CallFinder& finder,
                                                       const FunctionLibrary& library) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Callee> callees, finder.Callees(id));
  const CallKind kind = finder.KindOf(id);
  const bool by_kernel = kind == CallKind::kGradient || kind == CallKind::kOther;
  std::vector<BoundFunction> bound;
  bound.reserve(callees.size());
  for (const Callee& callee : callees) {
    if (by_kernel && !library.Contains(callee.name)) continue;
    absl::StatusOr<BoundFunction> function = BindFunction(library, callee.name, callee.attrs);
    if (!function.ok()) {
      if (by_kernel) continue;  // The kernel may bind more than the attr says.
      const absl::Status status = function.status();
      return AtCallee(graph, id, callee, IsLookedForLate(graph, id, kind) ? InBody(status) : status);
    }
    if (!by_kernel) {
      const absl::Status fits = CheckContract(kind, ContractOf(graph, id, kind, callee.attr), *function);
      if (!fits.ok()) return AtCallee(graph, id, callee, fits);
    }
    bound.push_back(*std::move(function));
  }
  return bound;
}

absl::Status InBody(const absl::Status& status) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->code != ErrorCode::kFunctionUnknown) return status;
  info->code = ErrorCode::kFunctionMissing;
  return MakeError(*info);
}

}  // namespace sluice
