#include "graph/ir/graph.h"

#include <algorithm>
#include <functional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr absl::string_view kNoName = "";

}  // namespace

Graph::Graph(std::shared_ptr<const OpRegistry> ops)
    : ops_(std::move(ops)), signatures_(std::make_shared<SignatureCache>()), devices_{kNoName} {
  device_ids_.Insert(NameTable::Hash(kNoName), 0);
}

std::vector<NodeId> Graph::Nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(num_live_);
  for (int32_t i = 0; i < id_limit(); ++i) {
    if (nodes_[static_cast<size_t>(i)].op != nullptr) ids.push_back(NodeId(i));
  }
  return ids;
}

NodeId Graph::Find(absl::string_view wanted) const { return FindHashed(wanted, NameTable::Hash(wanted)); }

std::string Graph::OutputName(const Output& output) const {
  if (!output.is_set()) return "(open)";
  if (output.is_control()) return absl::StrCat("^", name(output.node));
  if (output.index == 0) return std::string(name(output.node));
  return absl::StrCat(name(output.node), ":", output.index);
}

absl::StatusOr<Output> Graph::FindOutput(absl::string_view text) const {
  const TensorId id = ParseTensorId(text);
  const NodeId node = Find(id.node);
  if (!Contains(node)) {
    return Error(ErrorCode::kInputUnknown).Text(absl::StrCat("there is no node '", PrintableName(id.node), "'"));
  }
  if (!id.is_control() && id.index >= num_outputs(node)) {
    return Error(ErrorCode::kInputSlot)
        .Node(name(node), op_name(node))
        .Text(absl::StrCat("has no output ", id.index))
        .Expected(absl::StrCat("below ", num_outputs(node)));
  }
  return Output{node, id.index};
}

const OpSchema* Graph::FindOp(absl::string_view op) const {
  const OpSchema* const function = library_.empty() ? nullptr : library_.FindSchema(op);
  return function != nullptr ? function : ops_->Find(op);
}

std::shared_ptr<const void> Graph::SourceOwner(absl::string_view bytes) const {
  const std::less_equal<const char*> is_not_after;  // Pointers into different memory have an order, too.
  for (const Source& source : sources_) {
    if (is_not_after(source.bytes.data(), bytes.data()) &&
        is_not_after(bytes.data() + bytes.size(), source.bytes.data() + source.bytes.size())) {
      return source.owner;
    }
  }
  return nullptr;
}

size_t Graph::MemoryBytes() const {
  return nodes_.capacity() * sizeof(Record) + inputs_.capacity() * sizeof(Output) +
         attrs_.capacity() * sizeof(AttrRecord) + names_.bytes() + arena_.bytes() +
         (symbols_.capacity() + devices_.capacity()) * sizeof(absl::string_view);
}

uint32_t Graph::InternDevice(absl::string_view device) {
  if (device.empty()) return 0;
  if (!nodes_.empty() && devices_[nodes_.back().device] == device) return nodes_.back().device;
  const uint32_t hash = NameTable::Hash(device);
  const int32_t known = FindDevice(device, hash);
  if (known >= 0) return static_cast<uint32_t>(known);
  device_ids_.ReserveOne();  // Steps that can throw come first.
  const uint32_t id = static_cast<uint32_t>(devices_.size());
  devices_.push_back(arena_.Store(device));
  device_ids_.Insert(hash, static_cast<int32_t>(id));
  return id;
}

uint32_t Graph::InternSymbol(absl::string_view symbol) {
  const uint32_t hash = NameTable::Hash(symbol);
  const int32_t known = symbol_ids_.Find(symbol, hash, [this](int32_t i) { return symbols_[static_cast<size_t>(i)]; });
  if (known >= 0) return static_cast<uint32_t>(known);
  symbol_ids_.ReserveOne();  // Steps that can throw come first.
  const uint32_t id = static_cast<uint32_t>(symbols_.size());
  symbols_.push_back(arena_.Store(symbol));
  symbol_ids_.Insert(hash, static_cast<int32_t>(id));
  return id;
}

absl::Status Graph::CheckEdge(NodeId id, int32_t i, Output source) const {
  return CheckEdgeType(id, i, source, input_type(id, i));
}

bool Graph::IsGoodEdge(const Output& source, DType want) const {
  if (!source.is_set()) return true;
  if (!Contains(source.node) || source.is_control() || source.index >= num_outputs(source.node)) return false;
  const DType have = output_type(source.node, source.index);
  return have == want || (IsRef(have) && BaseType(have) == want);
}

absl::Status Graph::CheckEdgeType(NodeId id, int32_t i, Output source, DType want) const {
  if (IsGoodEdge(source, want)) return absl::OkStatus();
  if (!Contains(source.node) || source.is_control() || source.index >= num_outputs(source.node)) {
    return Locate(id, Error(ErrorCode::kInputSlot)
                          .Input(i, Contains(source.node) ? OutputName(source) : "")
                          .Text("names an output that is not in the graph"));
  }
  const DType have = output_type(source.node, source.index);
  const bool needs_ref = IsRef(want) && have == BaseType(want);
  return Locate(id, Error(needs_ref ? ErrorCode::kInputRef : ErrorCode::kInputType)
                        .Input(i, OutputName(source))
                        .Text(needs_ref ? "is a value where a reference is needed" : "has the wrong type")
                        .Found(DTypeName(have))
                        .Expected(DTypeName(want)));
}

void Graph::StoreInputs(absl::Span<const Output> inputs, absl::Span<const NodeId> controls, Record* record) {
  absl::InlinedVector<Output, 16> all(inputs.begin(), inputs.end());  // The span may point into inputs_.
  const auto num_inputs = static_cast<std::ptrdiff_t>(inputs.size());
  HashSet<int32_t> seen;
  for (NodeId control : controls) {
    const Output edge{control, kControlIndex};
    const bool is_new = controls.size() < kManyControls
                            ? std::find(all.begin() + num_inputs, all.end(), edge) == all.end()
                            : seen.insert(control.value()).second;
    if (is_new) all.push_back(edge);
  }
  if (all.size() > record->input_capacity) {
    const size_t first = inputs_.size();
    inputs_.insert(inputs_.end(), all.begin(), all.end());
    record->first_input = static_cast<uint32_t>(first);
    record->input_capacity = static_cast<uint32_t>(all.size());
  } else {
    std::copy(all.begin(), all.end(), inputs_.begin() + record->first_input);
  }
  record->num_inputs = static_cast<uint32_t>(num_inputs);
  record->num_controls = static_cast<uint32_t>(static_cast<std::ptrdiff_t>(all.size()) - num_inputs);
}

std::string Graph::UniqueName(absl::string_view prefix) const {
  return FreeName(prefix, [this](absl::string_view name) { return Contains(Find(name)); });
}

}  // namespace sluice
