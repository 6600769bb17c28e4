#include "graph/ir/node_def.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

constexpr uint32_t kName = WireTag(1, WireType::kBytes), kOp = WireTag(2, WireType::kBytes),
                   kInput = WireTag(3, WireType::kBytes), kDevice = WireTag(4, WireType::kBytes),
                   kAttr = WireTag(5, WireType::kBytes);

absl::Status ParseAttr(WireReader reader, NodeDefView* node) {
  NamedAttr attr;
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes)) attr.name = reader.bytes();
    if (reader.tag() == WireTag(2, WireType::kBytes)) attr.value = AttrView(reader.bytes());
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  node->attrs.push_back(attr);
  return absl::OkStatus();
}

// Of equal names the last stays. Few attrs are the rule: then comparing all pairs is quickest.
void DropRepeatedAttrs(std::vector<NamedAttr>& attrs) {
  for (size_t i = 1; i < attrs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (attrs[i].name != attrs[j].name) continue;
      attrs[j] = attrs[i];
      attrs.erase(attrs.begin() + static_cast<std::ptrdiff_t>(i));
      --i;
      break;
    }
  }
}

absl::Status CheckLimits(const NodeDefView& node, const LoadLimits& limits) {
  const int64_t name_bytes = static_cast<int64_t>(node.name.size());
  if (name_bytes > limits.max_name_bytes) {
    return Error(ErrorCode::kLimitName)
        .Node(node.name, node.op)
        .Text(absl::StrCat("has a name of ", name_bytes, " bytes"))
        .Limit("max_name_bytes", limits.max_name_bytes);
  }
  if (static_cast<int64_t>(node.attrs.size()) > limits.max_attrs_per_node) {
    return Error(ErrorCode::kLimitAttrs)
        .Node(node.name, node.op)
        .Text(absl::StrCat("has ", node.attrs.size(), " attrs"))
        .Limit("max_attrs_per_node", limits.max_attrs_per_node);
  }
  if (static_cast<int64_t>(node.inputs.size()) > limits.max_inputs_per_node) {
    return Error(ErrorCode::kLimitInputs)
        .Node(node.name, node.op)
        .Text(absl::StrCat("has ", node.inputs.size(), " inputs"))
        .Limit("max_inputs_per_node", limits.max_inputs_per_node);
  }
  return absl::OkStatus();
}

}  // namespace

const NamedAttr* NodeDefView::FindAttr(absl::string_view wanted) const {
  for (const NamedAttr& attr : attrs) {
    if (attr.name == wanted) return &attr;
  }
  return nullptr;
}

absl::Status ParseNodeDefInto(absl::string_view bytes, int64_t base_offset, const LoadLimits& limits,
                              NodeDefView* node) {
  node->name = node->op = node->device = absl::string_view();
  node->inputs.clear();
  node->attrs.clear();
  node->bytes = bytes;
  node->byte_begin = base_offset;
  WireReader reader(bytes, static_cast<size_t>(base_offset));
  while (reader.Next()) {
    switch (reader.tag()) {
      case kName:
        node->name = reader.bytes();
        break;
      case kOp:
        node->op = reader.bytes();
        break;
      case kInput:
        node->inputs.push_back(reader.bytes());
        break;
      case kDevice:
        node->device = reader.bytes();
        break;
      case kAttr:
        SLUICE_RETURN_IF_ERROR(ParseAttr(reader.Message(), node));
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return reader.status();
  SLUICE_RETURN_IF_ERROR(CheckLimits(*node, limits));
  DropRepeatedAttrs(node->attrs);
  return absl::OkStatus();
}

absl::StatusOr<NodeDefView> ParseNodeDef(absl::string_view bytes, int64_t base_offset, const LoadLimits& limits) {
  NodeDefView node;
  SLUICE_RETURN_IF_ERROR(ParseNodeDefInto(bytes, base_offset, limits, &node));
  return node;
}

std::string UnknownNodeFields(absl::string_view bytes) {
  std::string unknown;
  WireReader reader(bytes);
  while (reader.Next()) {
    const uint32_t tag = reader.tag();
    if (tag == kName || tag == kOp || tag == kInput || tag == kDevice || tag == kAttr) continue;
    absl::StrAppend(&unknown, reader.raw());
  }
  return unknown;
}

}  // namespace sluice
