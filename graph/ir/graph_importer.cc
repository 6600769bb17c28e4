#include "graph/ir/graph_importer.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/as_status.h"
#include "graph/base/status_macros.h"
#include "graph/ir/message_form.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ir/topo_order.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"

namespace sluice {

namespace {

std::shared_ptr<const SourceFile> FileOf(GraphSource& source) {
  auto file = std::make_shared<SourceFile>();
  file->name = source.name;
  file->graph_def = source.bytes;
  file->offset = source.offset;
  file->lines = std::move(source.lines);
  return file;
}

// Whether the graph's own field, one that import does not read, goes back into what is exported. Drops fields with a
// known number but another wire type: no reader uses them, and they could make the graph look like another message.
bool IsKept(const WireReader& field) {
  constexpr uint32_t kVersion = 3, kDebugInfo = 5;
  if (field.field() == kVersion) return field.type() == WireType::kVarint;
  return field.field() > kDebugInfo || (field.field() == kDebugInfo && field.type() == WireType::kBytes);
}

}  // namespace

GraphImporter::GraphImporter(Graph& graph, GraphSource source, const ImportOptions& options)
    : graph_(graph),
      source_(std::move(source)),
      file_(FileOf(source_)),
      options_(options),
      errors_(static_cast<size_t>(std::max<int64_t>(options.limits.max_kept_errors, 1))),
      ops_(graph),
      checker_(ops_, *graph.signatures_, options.limits) {}

absl::StatusOr<ImportResult> GraphImporter::Run() {
  SLUICE_RETURN_IF_ERROR(CheckSize());
  Mark mark = MakeMark();
  ImportResult result;
  const auto import = [&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(TakeForm());
    SLUICE_RETURN_IF_ERROR(Scan());
    SLUICE_RETURN_IF_ERROR(PrepareOptions());
    SLUICE_RETURN_IF_ERROR(AddNodes());
    SLUICE_RETURN_IF_ERROR(LinkInputs());
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    SLUICE_RETURN_IF_ERROR(CheckAcyclic(graph_, first_new_));
    SLUICE_RETURN_IF_ERROR(unread_damage_);
    if (options_.accept != nullptr) SLUICE_RETURN_IF_ERROR(options_.accept(graph_, first_new_));
    return CollectResult(&result);
  };
  const absl::Status status = AsStatus(import);
  if (status.ok()) return result;
  Rollback(std::move(mark));
  const absl::Status placed = file_->InFile(status);
  return source_.name.empty() ? placed : WithFile(placed, source_.name);
}

GraphImporter::Mark GraphImporter::MakeMark() const {
  return Mark{graph_.nodes_.size(),
              graph_.inputs_.size(),
              graph_.attrs_.size(),
              graph_.num_live_,
              graph_.sources_.size(),
              graph_.source_files_.size(),
              graph_.unknown_fields_.size(),
              graph_.sources_.empty() ? absl::string_view() : graph_.sources_.back().bytes,
              graph_.versions_};
}

void GraphImporter::Rollback(Mark mark) {
  for (size_t i = mark.nodes; i < graph_.nodes_.size(); ++i) {
    const NodeId id(static_cast<int32_t>(i));
    if (graph_.Contains(id)) graph_.names_.Erase(NameTable::Hash(graph_.name(id)), id.value());
  }
  graph_.nodes_.resize(mark.nodes);
  graph_.inputs_.resize(mark.inputs);
  graph_.attrs_.resize(mark.attrs);
  graph_.sources_.resize(mark.sources);
  if (mark.sources > 0) graph_.sources_.back().bytes = mark.last_source;
  graph_.num_live_ = mark.live;
  if (library_before_.has_value()) graph_.library_ = *std::move(library_before_);
  graph_.versions_ = std::move(mark.versions);
  graph_.unknown_fields_.resize(mark.unknown_fields);
  graph_.source_files_.resize(mark.source_files);
  graph_.many_controls_.clear();  // Of ids that will be given again.
}

absl::Status GraphImporter::CheckSize() const {
  // Positions in the file are kept in 31 bits, whatever the host allows.
  const int64_t limit = std::min<int64_t>(options_.limits.max_file_bytes, std::numeric_limits<int32_t>::max());
  if (static_cast<int64_t>(source_.bytes.size()) <= limit) return absl::OkStatus();
  return Error(ErrorCode::kLimitFileSize)
      .Text(absl::StrCat("the graph has ", source_.bytes.size(), " bytes"))
      .Limit("max_file_bytes", limit)
      .Help("keep large constants in a checkpoint beside the graph");
}

absl::Status GraphImporter::LocateInNode(const absl::Status& status) const {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  WireReader reader(source_.bytes, base());
  int64_t index = 0;
  while (info.has_value() && reader.Next()) {
    if (reader.tag() != WireTag(1, WireType::kBytes)) continue;
    if (info->byte_begin < static_cast<int64_t>(reader.end_offset())) {
      const bool is_in_node = info->byte_begin >= static_cast<int64_t>(reader.offset());
      return is_in_node ? file_->Locate(status, index, reader.bytes()) : status;
    }
    ++index;
  }
  return status;
}

absl::Status GraphImporter::TakeForm() {
  const absl::StatusOr<MessageFormReport> form = CheckGraphDefForm(source_.bytes, base());
  if (!form.ok()) return LocateInNode(form.status());
  unread_damage_ = form->damage;
  num_inputs_ = form->num_inputs;
  num_attrs_ = form->num_attrs;
  if (!form->has_repeats || !form->damage.ok()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(std::string merged, MergeRepeats(source_.bytes));
  auto owner = std::make_shared<const std::string>(std::move(merged));
  source_.bytes = *owner;
  source_.owner = std::move(owner);
  source_.offset = SourceFile::kNotInFile;
  source_.lines.clear();
  file_ = FileOf(source_);
  return absl::OkStatus();
}

absl::Status GraphImporter::Scan() {
  constexpr uint32_t kNode = WireTag(1, WireType::kBytes), kLibrary = WireTag(2, WireType::kBytes),
                     kVersions = WireTag(4, WireType::kBytes);
  WireReader reader(source_.bytes, base());
  while (reader.Next()) {
    switch (reader.tag()) {
      case kNode:
        ++num_nodes_;
        break;
      case kLibrary:
        libraries_.emplace_back(reader.bytes(), reader.payload_offset());
        break;
      case kVersions:
        SLUICE_RETURN_IF_ERROR(ReadVersions(reader.bytes(), reader.payload_offset()));
        break;
      default:
        if (!options_.extends && IsKept(reader)) absl::StrAppend(&unknown_fields_, reader.raw());
        break;
    }
  }
  if (!reader.ok()) return reader.status();
  const bool is_addition = options_.extends && graph_.id_limit() > 0;
  SLUICE_RETURN_IF_ERROR(is_addition ? CheckSameVersions() : CheckVersions(versions_));
  if (num_nodes_ + graph_.id_limit() > std::min<int64_t>(options_.limits.max_nodes, (int64_t{1} << 31) - 2)) {
    return Error(ErrorCode::kLimitNodes)
        .Text(absl::StrCat("the graph has ", num_nodes_, " nodes"))
        .Limit("max_nodes", options_.limits.max_nodes);
  }
  if (!libraries_.empty()) library_before_ = graph_.library_;
  for (const auto& library : libraries_) SLUICE_RETURN_IF_ERROR(ReadLibrary(library.first, library.second));
  return absl::OkStatus();
}

absl::Status GraphImporter::ReadVersions(absl::string_view bytes, size_t offset) {
  WireReader reader(bytes, offset);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kVarint)) versions_.producer = static_cast<int32_t>(reader.varint());
    if (reader.tag() == WireTag(2, WireType::kVarint)) versions_.min_consumer = static_cast<int32_t>(reader.varint());
    if (reader.field() == 3) {
      SLUICE_RETURN_IF_ERROR(
          ForEachVarint(reader, [&](uint64_t v) { versions_.bad_consumers.push_back(static_cast<int32_t>(v)); }));
    }
  }
  return reader.status();
}

absl::Status GraphImporter::CheckVersions(const GraphVersions& versions) const {
  if (versions.min_consumer > kGraphVersion) {
    return Error(ErrorCode::kFileVersion)
        .Text("the graph needs a newer reader")
        .Found(absl::StrCat("min_consumer ", versions.min_consumer))
        .Expected(absl::StrCat("at most ", kGraphVersion, ", which is ours"));
  }
  const auto& bad = versions.bad_consumers;
  if (std::find(bad.begin(), bad.end(), kGraphVersion) != bad.end()) {
    return Error(ErrorCode::kFileBadVersion).Text(absl::StrCat("the graph refuses readers of version ", kGraphVersion));
  }
  if (versions.producer < 0) {
    return Error(ErrorCode::kFileVersion)
        .Text("the graph has an impossible producer version")
        .Found(absl::StrCat(versions.producer));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::CheckSameVersions() const {
  const GraphVersions& mine = graph_.versions_;
  const bool is_same = versions_.producer == mine.producer && versions_.min_consumer == mine.min_consumer &&
                       versions_.bad_consumers == mine.bad_consumers;
  if (!StatesVersions() || is_same) return absl::OkStatus();
  return Error(ErrorCode::kFileVersion)
      .Text("an addition to a graph states other versions than the graph has")
      .Found(absl::StrCat("producer ", versions_.producer, ", min_consumer ", versions_.min_consumer))
      .Expected(absl::StrCat("producer ", mine.producer, ", min_consumer ", mine.min_consumer, ", or none"));
}

absl::Status GraphImporter::ReadLibrary(absl::string_view bytes, size_t offset) {
  std::shared_ptr<const void> owner = source_.owner;
  WireReader reader(bytes, offset);
  std::vector<std::pair<absl::string_view, absl::string_view>> gradients;
  while (errors_.total() < kMaxCountedErrors && reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes)) {
      absl::StatusOr<std::shared_ptr<const FunctionDefinition>> function = ParseFunctionDef(
          owner, reader.bytes(), static_cast<int64_t>(reader.payload_offset()), options_.limits, file_);
      if (function.ok()) {
        Report(graph_.library_.Add(*std::move(function)));
      } else {
        Report(function.status());
      }
    } else if (reader.tag() == WireTag(2, WireType::kBytes)) {
      absl::string_view function, gradient;
      WireReader entry = reader.Message();
      while (entry.Next()) {
        if (entry.tag() == WireTag(1, WireType::kBytes)) function = entry.bytes();
        if (entry.tag() == WireTag(2, WireType::kBytes)) gradient = entry.bytes();
      }
      SLUICE_RETURN_IF_ERROR(entry.status());
      Report(graph_.library_.AddGradient(function, gradient));
    } else if (reader.tag() == WireTag(3, WireType::kBytes)) {
      absl::string_view function, op_type;
      WireReader entry = reader.Message();
      while (entry.Next()) {
        if (entry.tag() == WireTag(1, WireType::kBytes)) function = entry.bytes();
        if (entry.tag() == WireTag(2, WireType::kBytes)) op_type = entry.bytes();
      }
      SLUICE_RETURN_IF_ERROR(entry.status());
      // The first of two for one type: nothing that runs depends on it.
      if (!op_type.empty()) graph_.library_.AddGradient(RegisteredGradientKey(op_type), function).IgnoreError();
    }
  }
  return reader.status();
}

void GraphImporter::MergeVersions() {
  GraphVersions& merged = graph_.versions_;
  const bool is_first = first_new_ == 0 && graph_.source_files_.empty();
  if (options_.extends ? is_first && StatesVersions() : is_first) merged = versions_;
  if (options_.extends || is_first) return;
  merged.producer = std::min(merged.producer, versions_.producer);
  merged.min_consumer = std::max(merged.min_consumer, versions_.min_consumer);
  merged.bad_consumers.insert(merged.bad_consumers.end(), versions_.bad_consumers.begin(),
                              versions_.bad_consumers.end());
}

void GraphImporter::KeepSource() {
  if (source_.owner == nullptr) return;
  if (!graph_.sources_.empty()) {
    // Bytes that follow on those of the import before, in one piece of memory, are one source with them.
    Graph::Source& last = graph_.sources_.back();
    if (last.owner == source_.owner && last.bytes.data() + last.bytes.size() == source_.bytes.data()) {
      last.bytes = absl::string_view(last.bytes.data(), last.bytes.size() + source_.bytes.size());
      return;
    }
  }
  graph_.sources_.push_back({source_.owner, source_.bytes});
}

absl::Status GraphImporter::PrepareOptions() {
  first_new_ = graph_.id_limit();
  MergeVersions();
  producer_ = options_.extends ? graph_.versions_.producer : versions_.producer;  // An addition may state none.
  absl::StrAppend(&graph_.unknown_fields_, unknown_fields_);
  KeepSource();
  if (!options_.extends) graph_.source_files_.push_back(file_);
  if (!options_.prefix.empty()) {
    std::string prefix = options_.prefix;
    if (prefix.back() == '/') prefix.pop_back();
    if (!IsValidNodeName(prefix, /*internal=*/true)) {
      return Error(ErrorCode::kNodeName)
          .Text(absl::StrCat("'", PrintableName(prefix), "' cannot be the prefix of node names"));
    }
    prefix_ = absl::StrCat(options_.uniquify_prefix ? graph_.UniqueName(prefix) : prefix, "/");
  }
  for (const auto& mapping : options_.input_map) {
    const TensorId from = ParseTensorId(mapping.first);
    const absl::StatusOr<Output> to = graph_.FindOutput(mapping.second);
    if (!to.ok()) return to.status();
    if (from.is_control() != to->is_control()) {
      return Error(ErrorCode::kInputSyntax)
          .Text(absl::StrCat("input_map turns '", mapping.first, "' into '", mapping.second, "'"))
          .Expected("data for data and control for control");
    }
    input_map_[{std::string(from.node), from.index}] = Mapped{*to};
  }
  for (const std::string& control : options_.control_dependencies) {
    const NodeId id = graph_.Find(control);
    if (!graph_.Contains(id)) {
      return Error(ErrorCode::kInputUnknown).Text(absl::StrCat("there is no node '", PrintableName(control), "'"));
    }
    extra_controls_.push_back(id);
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::PlaceOf(NodeId id, const absl::Status& status) const {
  const absl::Status named = WithNode(status, graph_.name(id), graph_.op_name(id));
  return file_->Locate(named, graph_.rec(id).source_index, graph_.source_bytes(id));
}

absl::Status GraphImporter::CollectResult(ImportResult* result) {
  for (const std::string& wanted : options_.return_tensors) {
    const TensorId id = ParseTensorId(wanted);
    const Output output = Resolve(id);
    if (!output.is_set() || (!output.is_control() && output.index >= graph_.num_outputs(output.node))) {
      return Error(ErrorCode::kInputUnknown)
          .Text(absl::StrCat("return tensor '", PrintableName(wanted), "' is not in the graph"));
    }
    result->return_tensors.push_back(output);
  }
  for (const std::string& wanted : options_.return_nodes) {
    const Output output = Resolve(TensorId{wanted, kControlIndex});
    if (!output.is_set()) {
      return Error(ErrorCode::kInputUnknown)
          .Text(absl::StrCat("return node '", PrintableName(wanted), "' is not in the graph"));
    }
    result->return_nodes.push_back(output.node);
  }
  for (const auto& mapping : options_.input_map) {
    const TensorId from = ParseTensorId(mapping.first);
    if (!input_map_[{std::string(from.node), from.index}].used) result->missing_unused_inputs.push_back(mapping.first);
  }
  return absl::OkStatus();
}

}  // namespace sluice
