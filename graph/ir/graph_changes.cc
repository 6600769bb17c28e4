// Changing a graph: every change is checked by the same rules as import.

#include <algorithm>

#include "absl/base/optimization.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
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

// The ops of a registry.
class RegistryOps : public NodeChecker::Ops {
 public:
  explicit RegistryOps(std::shared_ptr<const OpRegistry> ops) : ops_(std::move(ops)) {}
  const OpSchema* FindOp(absl::string_view op) const override { return ops_->Find(op); }
  std::vector<std::string> NearOps(absl::string_view) const override { return {}; }

 private:
  const std::shared_ptr<const OpRegistry> ops_;
};

// Runs NodeChecker for one node of `graph`.
absl::StatusOr<const Signature*> CheckNode(const Graph& graph, SignatureCache& signatures, const OpSchema& schema,
                                           absl::Span<const NamedAttr> attrs) {
  const OneOp ops(schema);
  NodeChecker checker(ops, signatures, LoadLimits());
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

// Remembers what was right of nodes added before. Of ops of the registry only: a function may go, and another one come
// at the same place.
class Graph::AddedNodeChecker {
 public:
  AddedNodeChecker(std::shared_ptr<const OpRegistry> ops, std::shared_ptr<SignatureCache> signatures)
      : ops_(std::move(ops)), signatures_(std::move(signatures)), checker_(ops_, *signatures_, LoadLimits()) {}

  NodeChecker& checker() { return checker_; }

 private:
  const RegistryOps ops_;
  const std::shared_ptr<SignatureCache> signatures_;
  NodeChecker checker_;
};

absl::Status Graph::CheckContains(NodeId id) const {
  if (Contains(id)) return absl::OkStatus();
  return Error(ErrorCode::kNodeMissing)
      .Text("a change of the graph names a node that is not in it")
      .Found(absl::StrCat("id ", id.value()))
      .Expected(absl::StrCat("the id of a node that was added and not removed, below ", id_limit()));
}

absl::Status Graph::CheckControls(absl::Span<const NodeId> controls) const {
  for (NodeId control : controls) {
    const bool was_added = control.value() >= 0 && control.value() < id_limit();
    if (!was_added) return CheckContains(control);
  }
  return absl::OkStatus();
}

absl::Status Graph::CheckAdded(absl::string_view op, absl::Span<const NamedAttr> attrs, Record* record) {
  if (const OpSchema* const function = library_.empty() ? nullptr : library_.FindSchema(op)) {
    record->op = function;
    SLUICE_ASSIGN_OR_RETURN(record->signature, CheckNode(*this, *signatures_, *function, attrs));
    return absl::OkStatus();
  }
  std::shared_ptr<AddedNodeChecker>& check = added_check_.get();
  if (check == nullptr) check = std::make_shared<AddedNodeChecker>(ops_, signatures_);
  NodeChecker::OpEntry* const entry = check->checker().Find(op);
  if (entry == nullptr) return Error(ErrorCode::kOpUnknown).Text("is not an op known here");
  record->op = &NodeChecker::SchemaOf(*entry);
  SLUICE_ASSIGN_OR_RETURN(record->signature, check->checker().Check(*entry, attrs, versions_.producer));
  return absl::OkStatus();
}

absl::Status Graph::EdgeErrorOf(const NodeSpec& spec, const Record& record) {
  const NodeId id(id_limit());
  nodes_.push_back(record);  // For the text of the error, which may find no memory.
  const absl::Cleanup remove = [this] { nodes_.pop_back(); };
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckEdge(id, static_cast<int32_t>(i), spec.inputs[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeId> Graph::AddNode(const NodeSpec& spec) {
  if (!IsValidNodeName(spec.name, /*internal=*/true)) {
    return Error(ErrorCode::kNodeName).Node(spec.name, spec.op).Text("has a name that no node can have");
  }
  const uint32_t hash = NameTable::Hash(spec.name);
  if (Contains(FindHashed(spec.name, hash))) {
    return Error(ErrorCode::kNodeDuplicate).Node(spec.name, spec.op).Text("has the name of another node");
  }
  absl::InlinedVector<NamedAttr, 8> attrs;
  for (const auto& attr : spec.attrs) attrs.push_back({attr.first, attr.second.view()});
  attrs.insert(attrs.end(), spec.kept_attrs.begin(), spec.kept_attrs.end());
  Record record;
  if (const absl::Status checked = CheckAdded(spec.op, attrs, &record); !checked.ok()) {
    return WithNode(checked, spec.name, spec.op);
  }
  const std::vector<DType>& types = record.signature->inputs;
  if (spec.inputs.size() != types.size()) return WrongCount(spec, types.size());
  if (const absl::Status found = CheckControls(spec.controls); !found.ok()) return WithNode(found, spec.name, spec.op);

  // From here on what throws leaves at most bytes that nothing refers to.
  if (nodes_.size() == nodes_.capacity()) nodes_.reserve(std::max<size_t>(nodes_.size() * 2, 8));
  names_.ReserveOne();
  const NodeId id(id_limit());
  const absl::string_view stored = arena_.Store(spec.name);
  record.name = stored.data();
  record.name_size = static_cast<uint32_t>(stored.size());
  record.device = InternDevice(spec.device);
  record.source = spec.source.data();
  record.source_size = static_cast<uint32_t>(spec.source.size());
  record.first_attr = static_cast<uint32_t>(attrs_.size());
  record.num_attrs = static_cast<uint32_t>(attrs.size());
  for (size_t i = 0; i < attrs.size(); ++i) {
    const absl::string_view bytes = attrs[i].value.bytes();
    const absl::string_view value = i < spec.attrs.size() ? arena_.Store(bytes) : bytes;
    attrs_.push_back({InternSymbol(attrs[i].name), static_cast<uint32_t>(value.size()), value.data()});
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (ABSL_PREDICT_TRUE(IsGoodEdge(spec.inputs[i], types[i]))) continue;
    const absl::Status status = EdgeErrorOf(spec, record);
    if (status.ok()) break;  // This is an edge to the node itself, and all others are good, too.
    attrs_.resize(record.first_attr);
    return status;
  }
  if (spec.source_owner != nullptr) owners_.try_emplace(spec.source_owner.get(), spec.source_owner);
  StoreInputs(spec.inputs, spec.controls, &record);
  nodes_.push_back(record);
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
  many_controls_.erase(id.value());
  --num_live_;
}

absl::Status Graph::SetInput(NodeId id, int32_t i, Output source) {
  SLUICE_RETURN_IF_ERROR(CheckContains(id));
  Record& record = rec(id);
  if (i < 0 || static_cast<uint32_t>(i) >= record.num_inputs) {
    return Locate(id, Error(ErrorCode::kInputCount).Text(absl::StrCat("has no input ", i)));
  }
  SLUICE_RETURN_IF_ERROR(CheckEdge(id, i, source));
  inputs_[record.first_input + static_cast<uint32_t>(i)] = source;
  return absl::OkStatus();
}

absl::Status Graph::SetInputs(NodeId id, absl::Span<const Output> inputs, absl::Span<const NodeId> controls) {
  SLUICE_RETURN_IF_ERROR(CheckContains(id));
  SLUICE_RETURN_IF_ERROR(CheckControls(controls));
  if (inputs.size() != signature(id).inputs.size()) {
    return Locate(id, Error(ErrorCode::kInputCount)
                          .Text("has the wrong number of inputs")
                          .Found(absl::StrCat(inputs.size()))
                          .Expected(absl::StrCat(signature(id).inputs.size())));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckEdge(id, static_cast<int32_t>(i), inputs[i]));
  }
  StoreInputs(inputs, controls, &rec(id));
  many_controls_.erase(id.value());
  return absl::OkStatus();
}

bool Graph::HasControl(NodeId id, NodeId predecessor) {
  const absl::Span<const Output> present = controls(id);
  if (present.size() < kManyControls) {
    return std::any_of(present.begin(), present.end(), [&](const Output& edge) { return edge.node == predecessor; });
  }
  auto known = many_controls_.find(id.value());
  if (known == many_controls_.end()) {
    HashSet<int32_t> seen;  // Kept only where there is memory for all of it.
    for (const Output& edge : present) seen.insert(edge.node.value());
    known = many_controls_.try_emplace(id.value(), std::move(seen)).first;
  }
  return known->second.contains(predecessor.value());
}

absl::Status Graph::AddControl(NodeId id, NodeId predecessor) {
  SLUICE_RETURN_IF_ERROR(CheckContains(id));
  SLUICE_RETURN_IF_ERROR(CheckContains(predecessor));
  if (HasControl(id, predecessor)) return absl::OkStatus();
  const uint32_t count = rec(id).num_inputs + rec(id).num_controls;
  // What throws changes no edge.
  if (count == rec(id).input_capacity) {  // Move the list to the end, with room to grow.
    const uint32_t begin = static_cast<uint32_t>(inputs_.size()), capacity = count * 2 + 2;
    inputs_.resize(inputs_.size() + capacity);
    std::copy_n(inputs_.begin() + rec(id).first_input, count, inputs_.begin() + begin);
    rec(id).first_input = begin;
    rec(id).input_capacity = capacity;
  }
  const auto many = many_controls_.find(id.value());
  if (many != many_controls_.end()) many->second.insert(predecessor.value());
  inputs_[rec(id).first_input + count] = Output{predecessor, kControlIndex};
  ++rec(id).num_controls;
  return absl::OkStatus();
}

void Graph::RemoveControl(NodeId id, NodeId predecessor) {
  if (!Contains(id)) return;
  Record& record = rec(id);
  const auto begin = inputs_.begin() + record.first_input + record.num_inputs;
  const auto end = begin + record.num_controls;
  const auto kept = std::remove(begin, end, Output{predecessor, kControlIndex});
  record.num_controls = static_cast<uint32_t>(kept - begin);
  many_controls_.erase(id.value());
}

void Graph::RemoveAllControls(NodeId id) {
  if (!Contains(id)) return;
  rec(id).num_controls = 0;
  many_controls_.erase(id.value());
}

void Graph::SetDevice(NodeId id, absl::string_view device) {
  SLUICE_CHECK(Contains(id)) << "SetDevice of node " << id.value();
  const uint32_t interned = InternDevice(device);
  rec(id).device = interned;
}

absl::Status Graph::SetAttr(NodeId id, absl::string_view attr_name, const AttrValue& value) {
  SLUICE_RETURN_IF_ERROR(CheckContains(id));
  std::vector<NamedAttr> all = attrs(id);
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const NamedAttr& attr) { return attr.name == attr_name; });
  const NamedAttr set = {attr_name, value.view()};
  if (known == all.end()) {
    all.push_back(set);
  } else {
    *known = set;
  }
  return ReplaceAttrs(id, all);
}

absl::Status Graph::RemoveAttr(NodeId id, absl::string_view attr_name) {
  SLUICE_RETURN_IF_ERROR(CheckContains(id));
  std::vector<NamedAttr> all = attrs(id);
  const auto known =
      std::remove_if(all.begin(), all.end(), [&](const NamedAttr& attr) { return attr.name == attr_name; });
  if (known == all.end()) return absl::OkStatus();
  all.erase(known, all.end());
  return ReplaceAttrs(id, all);
}

absl::Status Graph::ReplaceAttrs(NodeId id, absl::Span<const NamedAttr> all) {
  const absl::StatusOr<const Signature*> signature = CheckNode(*this, *signatures_, *rec(id).op, all);
  if (!signature.ok()) return Locate(id, signature.status());
  SLUICE_RETURN_IF_ERROR(CheckEdgesUnder(id, **signature));
  const std::vector<NamedAttr> before = attrs(id);
  const auto is_stored = [&](const NamedAttr& attr) {
    return std::any_of(before.begin(), before.end(), [&](const NamedAttr& old) {
      return old.value.bytes().data() == attr.value.bytes().data() && old.name == attr.name;
    });
  };
  const uint32_t first = static_cast<uint32_t>(attrs_.size());
  for (const NamedAttr& attr : all) {
    const absl::string_view given = attr.value.bytes();
    const absl::string_view bytes = is_stored(attr) ? given : arena_.Store(given);
    attrs_.push_back({InternSymbol(attr.name), static_cast<uint32_t>(bytes.size()), bytes.data()});
  }
  rec(id).first_attr = first;
  rec(id).num_attrs = static_cast<uint32_t>(all.size());
  rec(id).signature = *signature;
  return absl::OkStatus();
}

absl::Status Graph::CheckEdgesUnder(NodeId id, const Signature& wanted) const {
  const Signature& now = signature(id);
  if (&now == &wanted) return absl::OkStatus();
  if (wanted.inputs.size() != now.inputs.size()) {
    return Locate(id, Error(ErrorCode::kAttrValue)
                          .Text("cannot be given attrs that change the number of its inputs")
                          .Found(absl::StrCat(wanted.inputs.size(), " inputs"))
                          .Expected(absl::StrCat(now.inputs.size())));
  }
  for (size_t i = 0; i < wanted.inputs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckEdgeType(id, static_cast<int32_t>(i), inputs(id)[i], wanted.inputs[i]));
  }
  if (wanted.outputs == now.outputs) return absl::OkStatus();
  for (int32_t consumer = 0; consumer < id_limit(); ++consumer) {
    if (!Contains(NodeId(consumer))) continue;
    const absl::Span<const Output> read = inputs(NodeId(consumer));
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i].node != id) continue;
      const DType need = input_type(NodeId(consumer), static_cast<int32_t>(i));
      const size_t index = static_cast<size_t>(read[i].index);
      const DType have = index < wanted.outputs.size() ? wanted.outputs[index] : DType::kInvalid;
      if (have == need || (IsRef(have) && BaseType(have) == need)) continue;
      return Locate(NodeId(consumer), Error(ErrorCode::kInputType)
                                          .Input(static_cast<int32_t>(i), OutputName(read[i]))
                                          .Text("would get another type by the change of attrs of its input")
                                          .Found(index < wanted.outputs.size() ? DTypeName(have) : "no output")
                                          .Expected(DTypeName(need)));
    }
  }
  return absl::OkStatus();
}

absl::Status Graph::Rename(NodeId id, absl::string_view new_name) {
  SLUICE_RETURN_IF_ERROR(CheckContains(id));
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
