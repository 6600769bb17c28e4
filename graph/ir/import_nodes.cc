// Second pass of the import: nodes. See Note [Import].

#include <algorithm>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/device_name.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph_importer.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// Whether the bytes themselves are damaged: then what follows them means nothing.
bool IsDamage(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info && (info->code == ErrorCode::kFileWire || info->code == ErrorCode::kFileTruncated);
}

}  // namespace

void GraphImporter::ReserveNodes() {
  // A node with a name and an op has 8 bytes at least, an attr 7, an input 3: hollow ones reserve nothing.
  const size_t bytes = source_.bytes.size();
  const size_t count = std::min(static_cast<size_t>(num_nodes_), bytes / 8);
  if (first_new_ == 0) {
    graph_.nodes_.reserve(count);
    graph_.inputs_.reserve(std::min(static_cast<size_t>(num_inputs_), bytes / 3));
    graph_.attrs_.reserve(std::min(static_cast<size_t>(num_attrs_), bytes / 7));
  }
  graph_.names_.Reserve(graph_.num_live_ + count);
}

bool GraphImporter::ReadNextNode(WireReader* reader) {
  while (reader->Next()) {
    if (reader->tag() != WireTag(1, WireType::kBytes)) continue;
    next_.status =
        ParseNodeDefInto(reader->bytes(), static_cast<int64_t>(reader->payload_offset()), options_.limits, &next_.def);
    next_.name_hash = NameTable::Hash(next_.def.name);
    if (prefix_.empty()) graph_.names_.Prefetch(next_.name_hash);
    return true;
  }
  return false;
}

absl::Status GraphImporter::AddNodes() {
  ReserveNodes();
  WireReader reader(source_.bytes, base());
  int32_t index = 0;
  for (bool is_there = ReadNextNode(&reader); is_there && errors_.total() < kMaxCountedErrors; ++index) {
    SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
    std::swap(node_, next_.def);
    name_hash_ = next_.name_hash;
    absl::Status status = std::move(next_.status);
    is_there = ReadNextNode(&reader);
    if (status.ok()) {
      status = AddNode(index);
    } else if (IsDamage(status)) {
      return file_->Locate(status, index, node_.bytes);
    }
    if (status.ok()) continue;
    const bool is_kept = options_.tolerated != nullptr && AddOpaqueNode(index);
    if (!is_kept) broken_.insert(node_.name);
    Report(file_->Locate(WithNode(status, node_.name, node_.op), index, node_.bytes));
  }
  if (!prefix_.empty() || !renamed_.empty()) RenameColocationGroups();
  if (first_new_ > 0) return absl::OkStatus();  // Room for more is what makes additions cheap.
  if (graph_.attrs_.capacity() > graph_.attrs_.size() * 5 / 4) graph_.attrs_.shrink_to_fit();
  if (graph_.inputs_.capacity() > graph_.inputs_.size() * 5 / 4) graph_.inputs_.shrink_to_fit();
  return absl::OkStatus();
}

absl::Status GraphImporter::AddNode(int32_t index) {
  SLUICE_ASSIGN_OR_RETURN(const HashedName name, ImportedName());
  NodeChecker::OpEntry* const entry = checker_.Find(node_.op);
  if (entry == nullptr) return UnknownOp();
  if (!options_.allow_internal_ops && IsCallFrameOp(node_.op)) {
    const absl::Status outside =
        Error(ErrorCode::kOpInternal)
            .Text("is outside of a function")
            .Help("it stands for an argument or a result of a function: export the graph that calls the function");
    if (options_.tolerated == nullptr && options_.deferred == nullptr) return outside;
    Defer(outside, index);  // Its types are known.
  }
  absl::Status value_error;
  SLUICE_ASSIGN_OR_RETURN(const Signature* const signature,
                          checker_.Check(*entry, node_.attrs, producer_, options_.deferred ? &value_error : nullptr));
  if (ABSL_PREDICT_FALSE(!value_error.ok())) Defer(value_error, index);
  if (IsMappedAway(*signature)) return absl::OkStatus();

  Graph::Record record;
  record.name = name.text.data();
  record.name_size = static_cast<uint32_t>(name.text.size());
  record.op = &NodeChecker::SchemaOf(*entry);
  record.signature = signature;
  record.source = node_.bytes.data();
  record.source_size = static_cast<uint32_t>(node_.bytes.size());
  record.source_index = index;
  const absl::string_view device = node_.device.empty() ? options_.default_device : node_.device;
  if (graph_.devices_[last_device_] != device) {
    const bool known = graph_.FindDevice(device, NameTable::Hash(device)) >= 0;
    if (!known && !IsValidDeviceSpec(device)) {
      return Error(ErrorCode::kDeviceName)
          .Text(absl::StrCat("requests the device '", PrintableName(device), "', which is not a device name"));
    }
    last_device_ = graph_.InternDevice(device);
  }
  record.device = last_device_;
  SLUICE_RETURN_IF_ERROR(StoreInputTexts(*signature, &record));
  StoreAttrs(&record);
  // The record first: where there is no memory for one of the two, no name is left that leads to no record.
  graph_.nodes_.push_back(record);
  graph_.names_.Insert(name.hash, graph_.id_limit() - 1);
  ++graph_.num_live_;
  return absl::OkStatus();
}

absl::Status GraphImporter::UnknownOp() {
  constexpr size_t kMaxSearches = 50;  // For near names, each among all ops.
  const auto [known, is_new] = unknown_ops_.try_emplace(std::string(node_.op));
  if (is_new && unknown_ops_.size() <= kMaxSearches) known->second = checker_.UnknownOp("", node_.op);
  if (is_new && unknown_ops_.size() > kMaxSearches) {
    known->second = Error(ErrorCode::kOpUnknown).Text("is not an op that is known here");
  }
  return known->second;
}

absl::StatusOr<GraphImporter::HashedName> GraphImporter::ImportedName() {
  if (!IsValidNodeName(node_.name, /*internal=*/options_.allow_internal_ops)) {
    const bool is_internal = IsValidNodeName(node_.name, /*internal=*/true);
    return Error(ErrorCode::kNodeName)
        .Text(node_.name.empty() ? "has no name"
              : is_internal      ? "has a name that only nodes made by the runtime can have"
                                 : "has a name that no node can have")
        .Expected("a letter, digit or '.', then letters, digits and _ . - / (and > before another such part)");
  }
  HashedName name = {node_.name, name_hash_};
  if (!prefix_.empty()) name = Hashed(graph_.arena_.Store(absl::StrCat(prefix_, node_.name)));
  const NodeId taken = graph_.FindHashed(name.text, name.hash);
  const bool repeated = graph_.Contains(taken) && taken.value() >= first_new_;
  if (repeated || (graph_.Contains(taken) && !options_.uniquify_names)) {
    return Error(ErrorCode::kNodeDuplicate)
        .Text("has the name of another node")
        .Found(absl::StrCat("node ", graph_.source_index(taken), " (", graph_.op_name(taken), ") of the same name"));
  }
  if (graph_.Contains(taken)) {
    const std::string unique = graph_.UniqueName(name.text);
    name = Hashed(graph_.arena_.Store(unique));
    renamed_[std::string(node_.name)] = unique;
  }
  return name;
}

bool GraphImporter::IsMappedAway(const Signature& signature) const {
  if (!options_.skip_mapped_nodes || input_map_.empty()) return false;
  const std::string name(node_.name);
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    if (!input_map_.contains({name, static_cast<int32_t>(i)})) return false;
  }
  return !signature.outputs.empty();
}

void GraphImporter::StoreAttrs(Graph::Record* record) {
  record->first_attr = static_cast<uint32_t>(graph_.attrs_.size());
  record->num_attrs = static_cast<uint32_t>(node_.attrs.size());
  for (const NamedAttr& attr : node_.attrs) {
    uint32_t symbol = 0;
    bool known = false;
    for (const auto& seen : recent_symbols_) {
      if (seen.first != attr.name) continue;
      symbol = seen.second;
      known = true;
      break;
    }
    if (!known) {
      symbol = graph_.InternSymbol(attr.name);
      if (recent_symbols_.size() < 8) {
        recent_symbols_.emplace_back(graph_.symbols_[symbol], symbol);
      } else {
        recent_symbols_[next_symbol_++ % 8] = {graph_.symbols_[symbol], symbol};
      }
    }
    const absl::string_view value = attr.value.bytes();
    graph_.attrs_.push_back({symbol, static_cast<uint32_t>(value.size()), value.data()});
  }
}

void GraphImporter::RenameColocationGroups() {
  const uint32_t symbol = graph_.InternSymbol("_class");
  for (size_t i = static_cast<size_t>(first_new_); i < graph_.nodes_.size(); ++i) {
    const Graph::Record& record = graph_.nodes_[i];
    for (uint32_t k = record.first_attr; k < record.first_attr + record.num_attrs; ++k) {
      Graph::AttrRecord& attr = graph_.attrs_[k];
      if (attr.name != symbol) continue;
      const absl::StatusOr<std::vector<absl::string_view>> groups = AttrView({attr.data, attr.size}).AsStringList();
      if (!groups.ok()) continue;  // Means nothing to placement either.
      const absl::string_view renamed = graph_.arena_.Store(RenamedGroups(*groups).bytes());
      attr.data = renamed.data();
      attr.size = static_cast<uint32_t>(renamed.size());
    }
  }
}

AttrValue GraphImporter::RenamedGroups(absl::Span<const absl::string_view> groups) const {
  constexpr absl::string_view kLocation = "loc:@";
  std::vector<std::string> names;
  for (absl::string_view group : groups) {
    absl::string_view node = group;
    if (!absl::ConsumePrefix(&node, kLocation)) {
      names.emplace_back(group);
      continue;
    }
    const auto renamed = renamed_.find(node);
    names.push_back(renamed != renamed_.end() ? absl::StrCat(kLocation, renamed->second)
                                              : absl::StrCat(kLocation, prefix_, node));
  }
  return AttrValue(names);
}

absl::Status GraphImporter::StoreInputTexts(const Signature& signature, Graph::Record* record) {
  size_t num_data = 0;
  bool control_seen = false;
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    const absl::string_view text = node_.inputs[i];
    const bool control = !text.empty() && text.front() == '^';
    if (!control && control_seen) {
      return Error(ErrorCode::kInputOrder)
          .Input(static_cast<int32_t>(i), text)
          .Text("comes after a control input")
          .Expected("control inputs last");
    }
    control_seen = control_seen || control;
    if (!control) ++num_data;
  }
  if (num_data != signature.inputs.size()) {
    return Error(ErrorCode::kInputCount)
        .Text("has the wrong number of inputs")
        .Found(absl::StrCat(num_data))
        .Expected(absl::StrCat(signature.inputs.size()));
  }
  record->first_input = static_cast<uint32_t>(graph_.inputs_.size());
  record->num_inputs = static_cast<uint32_t>(num_data);
  record->num_controls = static_cast<uint32_t>(node_.inputs.size() - num_data);
  record->input_capacity = static_cast<uint32_t>(node_.inputs.size());
  for (absl::string_view text : node_.inputs) {
    graph_.inputs_.push_back(
        Output{NodeId(static_cast<int32_t>(text.data() - source_.bytes.data())), static_cast<int32_t>(text.size())});
  }
  return absl::OkStatus();
}

}  // namespace sluice
