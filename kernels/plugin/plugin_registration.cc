#include "kernels/plugin/plugin_registration.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/added_gradients.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/shapes/added_shape_functions.h"
#include "kernels/plugin/plugin_gradients.h"
#include "kernels/plugin/plugin_kernel.h"
#include "kernels/plugin/plugin_shapes.h"
#include "kernels/plugin/plugin_status.h"

namespace sluice {
namespace {

// A struct of a plug-in, which may have been built with an earlier header: what it does not have is zero. kHostKernel
// for a size that no version of the struct has.
template <typename Def>
absl::StatusOr<Def> CopyDef(const Def* def, size_t least_bytes) {
  Def copy{};
  if (def == nullptr || def->struct_size < least_bytes || def->struct_size > 65536) {
    return Error(ErrorCode::kHostKernel).Text("a description's struct_size is not its size");
  }
  std::memcpy(&copy, def, std::min(sizeof(copy), def->struct_size));
  return copy;
}

// In version 1.0 the structs end here.
constexpr size_t kLeastOpBytes = offsetof(SluiceOpDef, deprecation) + sizeof(const char*);
constexpr size_t kLeastKernelBytes = offsetof(SluiceKernelDef, data) + sizeof(void*);
// In version 1.1.
constexpr size_t kLeastGradientBytes = offsetof(SluiceGradientDef, data) + sizeof(void*);

absl::StatusOr<OpSchema> SchemaOf(const SluiceOpDef& def) {
  if (def.name == nullptr) return Error(ErrorCode::kOpSchema).Text("an op has no name");
  OpSchemaBuilder builder(def.name);
  for (int32_t i = 0; i < def.num_inputs; ++i) builder.Input(def.inputs[i]);
  for (int32_t i = 0; i < def.num_outputs; ++i) builder.Output(def.outputs[i]);
  for (int32_t i = 0; i < def.num_attrs; ++i) builder.Attr(def.attrs[i]);
  if ((def.flags & SLUICE_OP_STATEFUL) != 0) builder.Stateful();
  if ((def.flags & SLUICE_OP_COMMUTATIVE) != 0) builder.Commutative();
  if ((def.flags & SLUICE_OP_AGGREGATE) != 0) builder.Aggregate();
  if ((def.flags & SLUICE_OP_ALLOWS_UNINITIALIZED_INPUT) != 0) builder.AllowsUninitializedInput();
  if (def.deprecated_at > 0) builder.Deprecated(def.deprecated_at, def.deprecation != nullptr ? def.deprecation : "");
  return builder.Build();
}

const OpSchema* FindOp(const SluiceRegistration& registration, absl::string_view name) {
  for (const SluiceRegistration::Op& op : registration.ops) {
    if (op.schema.name == name) return &op.schema;
  }
  return registration.known_ops->Find(name);
}

absl::Status AlreadyDefined(absl::string_view op, absl::string_view owner) {
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat("op '", PrintableName(op), "' is already defined by ", owner));
}

absl::Status CheckIsNew(const SluiceRegistration& registration, absl::string_view op) {
  if (registration.known_ops->Find(op) == nullptr) return absl::OkStatus();
  return AlreadyDefined(op, registration.owner_of(op));
}

absl::Status AddOp(SluiceRegistration* registration, const SluiceOpDef* given) {
  SLUICE_ASSIGN_OR_RETURN(const SluiceOpDef def, CopyDef(given, kLeastOpBytes));
  SLUICE_ASSIGN_OR_RETURN(OpSchema schema, SchemaOf(def));
  SLUICE_RETURN_IF_ERROR(CheckIsNew(*registration, schema.name));
  for (const SluiceRegistration::Op& op : registration->ops) {
    if (op.schema.name == schema.name) return AlreadyDefined(schema.name, "this plug-in");
  }
  registration->ops.push_back({std::move(schema), def});
  return absl::OkStatus();
}

bool HasArgument(const std::vector<ArgSpec>& args, absl::string_view name) {
  return std::any_of(args.begin(), args.end(), [name](const ArgSpec& arg) { return arg.name == name; });
}

// Checks that the op has the attrs and arguments that the row names.
absl::Status CheckRow(const SluiceRegistration& registration, const SluiceKernelDef& def, OwnedKernelRow* row) {
  const auto refuse = [&def](absl::string_view why, absl::string_view name) -> absl::Status {
    return Error(ErrorCode::kHostKernel)
        .Text(absl::StrCat("a kernel for '", PrintableName(def.op), "' ", why, " '", PrintableName(name), "'"));
  };
  const OpSchema* const op = FindOp(registration, def.op);
  if (op == nullptr) return refuse("is for an op that does not exist:", def.op);
  for (const TypeConstraint& constraint : row->row().types()) {
    const AttrSpec* const attr = op->FindAttr(constraint.attr);
    if (attr == nullptr || ElementType(attr->type) != AttrType::kType) {
      return refuse("is limited by an attr that is not a type of the op:", constraint.attr);
    }
  }
  for (int32_t i = 0; i < def.num_host_args; ++i) {
    const absl::string_view name = def.host_args[i];
    const bool is_input = HasArgument(op->inputs, name);
    const bool is_output = HasArgument(op->outputs, name);
    if (!is_input && !is_output) return refuse("names an argument in host memory that the op does not have:", name);
    if (is_input) row->HostInput(name);
    if (is_output) row->HostOutput(name);
  }
  return absl::OkStatus();
}

absl::Status AddKernel(SluiceRegistration* registration, const SluiceKernelDef* given) {
  SLUICE_ASSIGN_OR_RETURN(const SluiceKernelDef def, CopyDef(given, kLeastKernelBytes));
  if (def.op == nullptr) return Error(ErrorCode::kHostKernel).Text("a kernel names no op");
  SLUICE_ASSIGN_OR_RETURN(OwnedKernelRow row, MakePluginRow(def, registration->origin));
  SLUICE_RETURN_IF_ERROR(CheckRow(*registration, def, &row));
  registration->rows.push_back(std::move(row));
  return absl::OkStatus();
}

absl::Status RefuseGradient(absl::string_view op, absl::string_view why) {
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat("gradient of '", PrintableName(op), "': ", why));
}

absl::Status AddGradient(SluiceRegistration* registration, const SluiceGradientDef* given) {
  SLUICE_ASSIGN_OR_RETURN(const SluiceGradientDef def, CopyDef(given, kLeastGradientBytes));
  if (def.op == nullptr || def.gradient == nullptr) {
    return Error(ErrorCode::kHostKernel).Text("a gradient names no op, or has no function");
  }
  if (FindOp(*registration, def.op) == nullptr) return RefuseGradient(def.op, "there is no op of this name");
  for (const auto& other : registration->gradients) {
    if (other.first == def.op) return RefuseGradient(def.op, "the plug-in brings two");
  }
  registration->gradients.emplace_back(def.op, def);
  return absl::OkStatus();
}

// Gives the status to the plug-in and keeps the first.
SluiceStatus* Remember(SluiceRegistration* registration, absl::Status status) noexcept {
  if (registration->first_error.ok()) registration->first_error = status;
  return GiveStatus(status);
}

}  // namespace

SluiceStatus* RegistrationAddOp(SluiceRegistration* registration, const SluiceOpDef* op) noexcept {
  return Remember(registration, AsStatus([&] { return AddOp(registration, op); }));
}

SluiceStatus* RegistrationAddKernel(SluiceRegistration* registration, const SluiceKernelDef* kernel) noexcept {
  return Remember(registration, AsStatus([&] { return AddKernel(registration, kernel); }));
}

SluiceStatus* RegistrationAddGradient(SluiceRegistration* registration, const SluiceGradientDef* gradient) noexcept {
  return Remember(registration, AsStatus([&] { return AddGradient(registration, gradient); }));
}

absl::Status Commit(SluiceRegistration* registration, const std::shared_ptr<OpRegistry>& ops, KernelRegistry& kernels) {
  // Again: the host may have added one meanwhile.
  for (const SluiceRegistration::Op& op : registration->ops) {
    SLUICE_RETURN_IF_ERROR(CheckIsNew(*registration, op.schema.name));
    // Where the registry is without TensorFlow's ops.
    if (op.def.shapes != nullptr && HasShapeFunction(ops.get(), op.schema.name)) {
      return Error(ErrorCode::kOpSchema)
          .Text(absl::StrCat("op '", PrintableName(op.schema.name),
                             "' cannot have a shape function: TensorFlow's op of this name has one"));
    }
  }
  for (const auto& [op, def] : registration->gradients) {
    if (HasGradientFunction(ops.get(), op)) return RefuseGradient(op, "the op has one already");
  }
  SLUICE_RETURN_IF_ERROR(kernels.CheckAdd(registration->rows));
  for (SluiceRegistration::Op& op : registration->ops) {
    const std::string name = op.schema.name;
    SLUICE_RETURN_IF_ERROR(ops->Add(std::move(op.schema)));
    if (op.def.shapes == nullptr) continue;
    SluiceOpDef functions{};
    functions.shapes = op.def.shapes;
    functions.data = op.def.data;
    SLUICE_RETURN_IF_ERROR(AddShapeFunction(
        ops, name, [functions](InferenceContext& context) { return InferByPlugin(functions, context); }));
  }
  for (const auto& [op, def] : registration->gradients) {
    SLUICE_RETURN_IF_ERROR(AddGradientFunction(
        ops, op, [gradient = def](GradientContext& context) { return DifferentiateByPlugin(gradient, context); }));
  }
  for (OwnedKernelRow& row : registration->rows) SLUICE_RETURN_IF_ERROR(kernels.Add(std::move(row)));
  return absl::OkStatus();
}

}  // namespace sluice
