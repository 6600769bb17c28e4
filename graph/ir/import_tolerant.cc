// The import of graphs that are looked at, not run: what is wrong with a node is reported and the node kept as an
// opaque one. See ImportOptions::tolerated.

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "graph/ir/graph_importer.h"

namespace sluice {
namespace {

// The schemas and signatures of opaque nodes. Kept alive by the graph.
struct OpaqueTables {
  std::deque<OpSchema> schemas;
  std::deque<Signature> signatures;
};

}  // namespace

struct GraphImporter::OpaqueNodes {
  std::shared_ptr<OpaqueTables> tables = std::make_shared<OpaqueTables>();
  HashMap<std::string, const OpSchema*> schema_of;  // By op.
  HashMap<int32_t, Signature*> signature_of;        // By node.

  const OpSchema* SchemaOf(absl::string_view op) {
    const OpSchema*& schema = schema_of[op];
    if (schema != nullptr) return schema;
    tables->schemas.emplace_back().name = std::string(op);
    return schema = &tables->schemas.back();
  }
};

void GraphImporter::Report(const absl::Status& status) {
  if (options_.tolerated == nullptr) {
    errors_.Add(status);
  } else {
    options_.tolerated->Add(file_->InFile(status));
  }
}

void GraphImporter::Defer(const absl::Status& status, int32_t index) {
  const absl::Status located = file_->Locate(WithNode(status, node_.name, node_.op), index, node_.bytes);
  (options_.deferred != nullptr ? options_.deferred : options_.tolerated)->Add(file_->InFile(located));
}

GraphImporter::OpaqueNodes& GraphImporter::Opaque() {
  if (opaque_ == nullptr) {
    opaque_ = std::make_shared<OpaqueNodes>();
    graph_.sources_.push_back({opaque_->tables, absl::string_view()});
  }
  return *opaque_;
}

void GraphImporter::MakeOpaque(NodeId id, size_t num_inputs, size_t num_outputs) {
  OpaqueNodes& opaque = Opaque();
  Graph::Record& record = graph_.rec(id);
  Signature& signature = opaque.tables->signatures.emplace_back();
  signature.inputs.assign(num_inputs, DType::kInvalid);
  signature.outputs.assign(num_outputs, DType::kInvalid);
  signature.input_starts = signature.output_starts = {0};
  record.op = opaque.SchemaOf(record.op == nullptr ? absl::string_view(node_.op) : absl::string_view(record.op->name));
  record.signature = &signature;
  opaque.signature_of[id.value()] = &signature;
}

bool GraphImporter::AddOpaqueNode(int32_t index) {
  const absl::StatusOr<HashedName> name = ImportedName();
  if (!name.ok() || node_.op.empty()) return false;
  const auto is_data = [](absl::string_view text) { return !absl::StartsWith(text, "^"); };
  // Data before control, whatever the file says.
  std::stable_partition(node_.inputs.begin(), node_.inputs.end(), is_data);
  const auto num_data = static_cast<size_t>(std::count_if(node_.inputs.begin(), node_.inputs.end(), is_data));
  Signature as_written;
  as_written.inputs.assign(num_data, DType::kInvalid);
  Graph::Record record;
  record.name = name->text.data();
  record.name_size = static_cast<uint32_t>(name->text.size());
  record.source = node_.bytes.data();
  record.source_size = static_cast<uint32_t>(node_.bytes.size());
  record.source_index = index;
  record.device = graph_.InternDevice(node_.device);
  if (!StoreInputTexts(as_written, &record).ok()) return false;
  StoreAttrs(&record);
  // The name last: Rollback forgets those of records that are whole.
  graph_.nodes_.push_back(record);
  MakeOpaque(NodeId(graph_.id_limit() - 1), num_data, /*num_outputs=*/1);
  graph_.names_.Insert(name->hash, graph_.id_limit() - 1);
  ++graph_.num_live_;
  return true;
}

bool GraphImporter::HasOutput(const Output& source) {
  if (source.index < graph_.num_outputs(source.node)) return true;
  if (opaque_ == nullptr) return false;
  const auto found = opaque_->signature_of.find(source.node.value());
  // More slots than this are a slip, not an op.
  constexpr int32_t kMaxOutputs = 65'536;
  if (found == opaque_->signature_of.end() || source.index >= kMaxOutputs) return false;
  found->second->outputs.resize(static_cast<size_t>(source.index) + 1, DType::kInvalid);
  return true;
}

absl::Status GraphImporter::CheckKnownEdge(NodeId id, int32_t position, const Output& source) const {
  const auto is_opaque = [this](NodeId node) {
    return opaque_ != nullptr && opaque_->signature_of.contains(node.value());
  };
  if (is_opaque(id) || is_opaque(source.node)) return absl::OkStatus();
  return graph_.CheckEdge(id, position, source);
}

void GraphImporter::LinkTolerantly(NodeId id) {
  const uint32_t begin = graph_.rec(id).first_input;
  const uint32_t data_end = begin + graph_.rec(id).num_inputs;
  const uint32_t end = data_end + graph_.rec(id).num_controls;
  uint32_t next = begin, num_data = 0;
  for (uint32_t i = begin; i < end; ++i) {
    const absl::string_view text = Text(graph_.inputs_[i]);
    const auto position = static_cast<int32_t>(i - begin);
    const TensorId parsed = ParseTensorId(text);
    const Output source = Resolve(parsed);
    const bool is_data = i < data_end;
    absl::Status status;
    bool is_kept = source.is_set();
    if (!is_kept) {
      if (!IsBroken(parsed)) status = UnknownInput(position, text);
    } else if (is_data && !HasOutput(source)) {
      status = UnknownSlot(position, text, source);
      is_kept = false;
    } else if (is_data) {
      status = CheckKnownEdge(id, position, source);
    } else {
      is_kept = IsNewControl(id, source.node, begin + num_data, next);
    }
    if (!status.ok()) Report(PlaceOf(id, status));
    if (!is_kept) continue;
    graph_.inputs_[next++] = source;
    if (is_data) ++num_data;
  }
  Graph::Record& record = graph_.rec(id);
  record.num_controls = next - begin - num_data;
  if (num_data == record.num_inputs) return;
  record.num_inputs = num_data;
  MakeOpaque(id, num_data, static_cast<size_t>(graph_.num_outputs(id)));
}

}  // namespace sluice
