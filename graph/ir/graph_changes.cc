// Changing a graph: every change is checked by the same rules as import.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node_check.h"

namespace sluice {
namespace {

// The one op of a node that is being changed.
class OneOp : public NodeChecker::Ops {
 public:
  explicit OneOp(const OpSchema& schema) : schema_(schema) {}
  const OpSchema* FindOp(absl::string_view) const override { return &schema_; }
  std::vector<std::string> NearOps(absl::string_view) const override { return {}; }

 private:
  const OpSchema& schema_;
};

// Runs NodeChecker for one node of `graph`.
absl::StatusOr<const Signature*> CheckNode(const Graph& graph, SignatureCache& signatures, const OpSchema& schema,
                                           absl::Span<const NamedAttr> attrs) {
  const OneOp ops(schema);
  const LoadLimits limits;
  NodeChecker checker(ops, signatures, limits);
  return checker.Check(*checker.Find(schema.name), attrs, graph.versions().producer);
}

absl::Status WrongCount(const NodeSpec& spec, size_t expected) {
  return Error(ErrorCode::kInputCount)
      .Node(spec.name, spec.op)
      .Text("has the wrong number of inputs")
      .Found(absl::StrCat(spec.inputs.size()))
      .Expected(absl::StrCat(expected));
}

}  // namespace

absl::StatusOr<NodeId> Graph::AddNode(const NodeSpec& spec) {
  if (!IsValidNodeName(spec.name, /*internal=*/true)) {
    return Error(ErrorCode::kNodeName).Node(spec.name, spec.op).Text("has a name that no node can have");
  }
  const uint32_t hash = NameTable::Hash(spec.name);
  if (Contains(Find(spec.name))) {
    return Error(ErrorCode::kNodeDuplicate).Node(spec.name, spec.op).Text("has the name of another node");
  }
  const OpSchema* const schema = FindOp(spec.op);
  if (schema == nullptr) return Error(ErrorCode::kOpUnknown).Node(spec.name, spec.op).Text("is not an op known here");
  std::vector<NamedAttr> attrs;
  for (const auto& attr : spec.attrs) attrs.push_back({attr.first, attr.second.view()});
  const absl::StatusOr<const Signature*> signature = CheckNode(*this, *signatures_, *schema, attrs);
  if (!signature.ok()) return WithNode(signature.status(), spec.name, spec.op);
  if (spec.inputs.size() != (*signature)->inputs.size()) return WrongCount(spec, (*signature)->inputs.size());

  const NodeId id(id_limit());
  Record record;
  const absl::string_view stored = arena_.Store(spec.name);
  record.name = stored.data();
  record.name_size = static_cast<uint32_t>(stored.size());
  record.op = schema;
  record.signature = *signature;
  record.device = InternDevice(spec.device);
  record.source = spec.source.data();
  record.source_size = static_cast<uint32_t>(spec.source.size());
  record.first_attr = static_cast<uint32_t>(attrs_.size());
  record.num_attrs = static_cast<uint32_t>(attrs.size());
  nodes_.push_back(record);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const absl::Status status = CheckEdge(id, static_cast<int32_t>(i), spec.inputs[i]);
    if (status.ok()) continue;
    nodes_.pop_back();
    return status;
  }
  for (const NamedAttr& attr : attrs) {
    const absl::string_view value = arena_.Store(attr.value.bytes());
    attrs_.push_back({InternSymbol(attr.name), static_cast<uint32_t>(value.size()), value.data()});
  }
  StoreInputs(id, spec.inputs, spec.controls);
  if (spec.source_owner != nullptr && (sources_.empty() || sources_.back().owner != spec.source_owner)) {
    sources_.push_back({spec.source_owner, absl::string_view()});
  }
  names_.Insert(hash, id.value());
  ++num_live_;
  return id;
}

void Graph::RemoveNode(NodeId id) {
  if (!Contains(id)) return;
  Record& record = rec(id);
  names_.Erase(NameTable::Hash(name(id)), id.value());
  record.op = nullptr;
  record.num_inputs = record.num_controls = record.num_attrs = 0;
  --num_live_;
}

absl::Status Graph::SetInput(NodeId id, int32_t i, Output source) {
  Record& record = rec(id);
  if (i < 0 || static_cast<uint32_t>(i) >= record.num_inputs) {
    return Locate(id, Error(ErrorCode::kInputCount).Text(absl::StrCat("has no input ", i)));
  }
  SLUICE_RETURN_IF_ERROR(CheckEdge(id, i, source));
  inputs_[record.first_input + static_cast<uint32_t>(i)] = source;
  return absl::OkStatus();
}

absl::Status Graph::SetInputs(NodeId id, absl::Span<const Output> inputs, absl::Span<const NodeId> controls) {
  if (inputs.size() != signature(id).inputs.size()) {
    return Locate(id, Error(ErrorCode::kInputCount)
                          .Text("has the wrong number of inputs")
                          .Found(absl::StrCat(inputs.size()))
                          .Expected(absl::StrCat(signature(id).inputs.size())));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckEdge(id, static_cast<int32_t>(i), inputs[i]));
  }
  const std::vector<Output> kept(inputs.begin(), inputs.end());  // The spans may point into inputs_.
  const std::vector<NodeId> kept_controls(controls.begin(), controls.end());
  StoreInputs(id, kept, kept_controls);
  return absl::OkStatus();
}

void Graph::AddControl(NodeId id, NodeId predecessor) {
  const Output edge{predecessor, kControlIndex};
  const absl::Span<const Output> present = controls(id);
  if (std::find(present.begin(), present.end(), edge) != present.end()) return;
  const uint32_t count = rec(id).num_inputs + rec(id).num_controls;
  if (count == rec(id).input_capacity) {  // Move the list to the end, with room to grow.
    const uint32_t begin = rec(id).first_input;
    rec(id).first_input = static_cast<uint32_t>(inputs_.size());
    rec(id).input_capacity = count * 2 + 2;
    inputs_.resize(inputs_.size() + rec(id).input_capacity);
    std::copy_n(inputs_.begin() + begin, count, inputs_.begin() + rec(id).first_input);
  }
  inputs_[rec(id).first_input + count] = edge;
  ++rec(id).num_controls;
}

void Graph::RemoveControl(NodeId id, NodeId predecessor) {
  Record& record = rec(id);
  const auto begin = inputs_.begin() + record.first_input + record.num_inputs;
  const auto end = begin + record.num_controls;
  const auto kept = std::remove(begin, end, Output{predecessor, kControlIndex});
  record.num_controls = static_cast<uint32_t>(kept - begin);
}

void Graph::RemoveAllControls(NodeId id) { rec(id).num_controls = 0; }

void Graph::SetDevice(NodeId id, absl::string_view device) {
  const uint32_t interned = InternDevice(device);
  rec(id).device = interned;
}

absl::Status Graph::SetAttr(NodeId id, absl::string_view attr_name, const AttrValue& value) {
  std::vector<NamedAttr> all = attrs(id);
  bool replaced = false;
  for (NamedAttr& attr : all) {
    if (attr.name != attr_name) continue;
    attr.value = value.view();
    replaced = true;
  }
  if (!replaced) all.push_back({attr_name, value.view()});
  const absl::StatusOr<const Signature*> signature = CheckNode(*this, *signatures_, *rec(id).op, all);
  if (!signature.ok()) return Locate(id, signature.status());
  if ((*signature)->inputs.size() != rec(id).num_inputs) {
    return Locate(id, Error(ErrorCode::kAttrValue).Attr(attr_name).Text("would change the number of inputs"));
  }
  const absl::string_view stored = arena_.Store(value.bytes());
  const uint32_t first = static_cast<uint32_t>(attrs_.size());
  for (const NamedAttr& attr : all) {
    const absl::string_view bytes = attr.value.bytes().data() == value.bytes().data() ? stored : attr.value.bytes();
    attrs_.push_back({InternSymbol(attr.name), static_cast<uint32_t>(bytes.size()), bytes.data()});
  }
  rec(id).first_attr = first;
  rec(id).num_attrs = static_cast<uint32_t>(all.size());
  rec(id).signature = *signature;
  return absl::OkStatus();
}

void Graph::RemoveAttr(NodeId id, absl::string_view attr_name) {
  Record& record = rec(id);
  for (uint32_t i = 0; i < record.num_attrs; ++i) {
    if (symbols_[attrs_[record.first_attr + i].name] != attr_name) continue;
    attrs_[record.first_attr + i] = attrs_[record.first_attr + record.num_attrs - 1];
    --record.num_attrs;
    return;
  }
}

absl::Status Graph::Rename(NodeId id, absl::string_view new_name) {
  if (new_name == name(id)) return absl::OkStatus();
  if (!IsValidNodeName(new_name, /*internal=*/true)) {
    return Locate(id,
                  Error(ErrorCode::kNodeName).Text(absl::StrCat("cannot be called '", PrintableName(new_name), "'")));
  }
  const uint32_t hash = NameTable::Hash(new_name);
  if (Contains(Find(new_name))) {
    return Locate(id, Error(ErrorCode::kNodeDuplicate)
                          .Text(absl::StrCat("cannot be called '", PrintableName(new_name), "': the name is taken")));
  }
  names_.Erase(NameTable::Hash(name(id)), id.value());
  const absl::string_view stored = arena_.Store(new_name);
  rec(id).name = stored.data();
  rec(id).name_size = static_cast<uint32_t>(stored.size());
  names_.Insert(hash, id.value());
  return absl::OkStatus();
}

}  // namespace sluice
