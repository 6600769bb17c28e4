#include "graph/ir/loose_node.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/ir/infer_attrs.h"
#include "graph/ir/node_check.h"

namespace sluice {
namespace {

// The ops of a registry, for NodeChecker. Borrows it.
class RegisteredOps final : public NodeChecker::Ops {
 public:
  explicit RegisteredOps(const OpRegistry& ops) : ops_(ops) {}
  const OpSchema* FindOp(absl::string_view op) const override { return ops_.Find(op); }
  std::vector<std::string> NearOps(absl::string_view op) const override { return ops_.Nearest(op, 3); }

 private:
  const OpRegistry& ops_;
};

// Edges carry references to where values are wanted, but not the other way round.
bool Fits(DType given, DType wanted) { return given == wanted || (IsRef(given) && BaseType(given) == wanted); }

absl::Status CheckInputs(absl::Span<const DType> given, absl::Span<const DType> wanted) {
  if (given.size() != wanted.size()) {
    return Error(ErrorCode::kInputCount)
        .Text("has the wrong number of inputs")
        .Found(absl::StrCat(given.size()))
        .Expected(absl::StrCat(wanted.size()));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (Fits(given[i], wanted[i])) continue;
    return Error(ErrorCode::kInputType)
        .Input(static_cast<int32_t>(i))
        .Text("has the wrong type")
        .Found(DTypeName(given[i]))
        .Expected(DTypeName(wanted[i]));
  }
  return absl::OkStatus();
}

// The signature, in `signatures`.
absl::StatusOr<const Signature*> Check(const OpRegistry& ops, const OpSchema& op, LooseNode::Spec& spec,
                                       SignatureCache& signatures) {
  std::vector<DType> types;
  for (const DType type : spec.inputs) types.push_back(BaseType(type));
  SLUICE_RETURN_IF_ERROR(InferAttrs(op, types, &spec.attrs));
  std::vector<NamedAttr> attrs;
  for (const auto& attr : spec.attrs) attrs.push_back({attr.first, attr.second.view()});
  const RegisteredOps known(ops);
  const LoadLimits limits;
  NodeChecker checker(known, signatures, limits);
  SLUICE_ASSIGN_OR_RETURN(const Signature* const signature, checker.Check(*checker.Find(op.name), attrs, 0));
  SLUICE_RETURN_IF_ERROR(CheckInputs(spec.inputs, signature->inputs));
  return signature;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LooseNode>> LooseNode::Make(const OpRegistry& ops, Spec spec) {
  if (spec.name.empty()) spec.name = spec.op;
  const OpSchema* const op = ops.Find(spec.op);
  if (op == nullptr) return Error(ErrorCode::kOpUnknown).Node(spec.name, spec.op).Text("is not an op known here");
  auto signatures = std::make_unique<SignatureCache>();
  const absl::StatusOr<const Signature*> signature = Check(ops, *op, spec, *signatures);
  if (!signature.ok()) return WithNode(signature.status(), spec.name, spec.op);
  return std::unique_ptr<LooseNode>(new LooseNode(*op, std::move(spec), std::move(signatures), **signature));
}

bool LooseNode::FindAttr(absl::string_view name, AttrView* value) const {
  for (const auto& attr : spec_.attrs) {
    if (attr.first != name) continue;
    *value = attr.second.view();
    return true;
  }
  const AttrSpec* const attr = op().FindAttr(name);
  if (attr == nullptr || !attr->has_default) return false;
  *value = AttrView(attr->default_value);
  return true;
}

absl::Status LooseNode::Locate(const absl::Status& status) const {
  return status.ok() ? status : WithNode(status, spec_.name, spec_.op);
}

}  // namespace sluice
