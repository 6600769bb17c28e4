// Counts the outputs of a call that failed before its types were known.

#include <algorithm>
#include <utility>

#include "executor/tape/record.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"

namespace sluice {
namespace {

// Bounds the count that an attr may claim; no call written by hand has so many outputs.
constexpr int64_t kMaxFailed = int64_t{1} << 20;

const std::string& ListAttr(const ArgSpec& arg) {
  return arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
}

// Returns `value` if it is a number, its length if it is a list of types, else -1.
int64_t LengthIn(AttrView value) {
  const absl::StatusOr<int64_t> number = value.AsInt();
  if (number.ok()) return *number;
  const absl::StatusOr<std::vector<DType>> types = value.AsTypeList();
  return types.ok() ? static_cast<int64_t>(types->size()) : -1;
}

// Returns how many tensors an argument with this attr stands for, or -1 if that is unknown.
int64_t LengthOf(const OpSchema& schema, const std::string& attr, const EagerOp::Attrs& attrs, size_t num_inputs) {
  for (const auto& [name, value] : attrs) {
    if (name == attr) return LengthIn(AttrView(value.bytes()));
  }
  // If all other arguments are single, the list has the remaining inputs.
  const auto has_attr = [&](const ArgSpec& arg) { return arg.is_list() && ListAttr(arg) == attr; };
  const auto is_list = [](const ArgSpec& arg) { return arg.is_list(); };
  const auto num_lists = std::count_if(schema.inputs.begin(), schema.inputs.end(), is_list);
  if (num_lists == 1 && std::any_of(schema.inputs.begin(), schema.inputs.end(), has_attr)) {
    return static_cast<int64_t>(num_inputs) - static_cast<int64_t>(schema.inputs.size()) + 1;
  }
  const AttrSpec* const spec = schema.FindAttr(attr);
  return spec != nullptr && spec->has_default ? LengthIn(AttrView(spec->default_value)) : -1;
}

}  // namespace

std::vector<Var> FailedOutputs(const OpRegistry& ops, absl::string_view op, const EagerOp::Attrs& attrs,
                               size_t num_inputs, const absl::Status& status) {
  int64_t count = 0;
  const OpSchema* const schema = ops.Find(op);
  if (schema != nullptr) {
    for (const ArgSpec& output : schema->outputs) {
      const int64_t length = output.is_list() ? LengthOf(*schema, ListAttr(output), attrs, num_inputs) : 1;
      if (length > 0) count = std::min(kMaxFailed, count + std::min(kMaxFailed, length));
    }
  }
  return std::vector<Var>(static_cast<size_t>(std::max<int64_t>(1, count)), Var::Failed(status));
}

}  // namespace sluice
