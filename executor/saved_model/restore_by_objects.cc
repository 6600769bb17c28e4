#include "executor/saved_model/restore_by_objects.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "executor/saved_model/object_graph.h"
#include "executor/saved_model/restored_variables.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/load/format.h"
#include "graph/value/tstring.h"
#include "graph/wire/message_fields.h"
#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// A variable to be filled. See Note [Variables without a restore].
struct Fill {
  NodeId handle;
  DType dtype = DType::kInvalid;
  std::string key;
  NodeId source;  // A variable that has the value already; not valid: it is read from the checkpoint.
};

// The variable behind `handle`: nodes with the same container and name share one.
std::string VariableOf(const Graph& graph, NodeId handle) {
  const absl::StatusOr<absl::string_view> container = graph.GetString(handle, "container");
  const absl::StatusOr<absl::string_view> shared = graph.GetString(handle, "shared_name");
  const bool has_name = shared.ok() && !shared->empty();
  return absl::StrCat(container.ok() ? *container : "", "\n", has_name ? *shared : graph.name(handle));
}

// The handles of variables that `restore` does not reach.
std::vector<NodeId> HandlesLeft(const Graph& graph, NodeId restore) {
  std::vector<bool> reached(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> todo = {restore};
  reached[static_cast<size_t>(restore.value())] = true;
  HashSet<std::string> restored;
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (graph.Is(id, "VarHandleOp")) restored.insert(VariableOf(graph, id));
    for (const Output& input : graph.all_inputs(id)) {
      const size_t at = static_cast<size_t>(input.node.value());
      if (reached[at]) continue;
      reached[at] = true;
      todo.push_back(input.node);
    }
  }
  std::vector<NodeId> left;
  for (const NodeId id : graph.Nodes()) {
    if (!graph.Is(id, "VarHandleOp") || reached[static_cast<size_t>(id.value())]) continue;
    if (restored.count(VariableOf(graph, id)) == 0) left.push_back(id);
  }
  return left;
}

// By handle that a node passes to a concrete function: the captured object.
HashMap<NodeId, int32_t> CapturedObjects(const Graph& graph, const ObjectGraph& objects) {
  HashMap<NodeId, int32_t> captured;
  for (const NodeId id : graph.Nodes()) {
    if (!graph.Is(id, "StatefulPartitionedCall") && !graph.Is(id, "PartitionedCall")) continue;
    const absl::StatusOr<AttrView> attr = graph.GetAttr(id, "f");
    if (!attr.ok()) continue;
    const absl::StatusOr<FuncView> function = attr->AsFunc();
    if (!function.ok()) continue;
    const absl::Span<const int32_t> captures = objects.CapturesOf(function->name);
    const absl::Span<const Output> inputs = graph.inputs(id);
    if (captures.size() > inputs.size()) continue;
    const absl::Span<const Output> last = inputs.subspan(inputs.size() - captures.size());
    for (size_t i = 0; i < last.size(); ++i) {
      if (graph.Is(last[i].node, "VarHandleOp")) captured.emplace(last[i].node, captures[i]);
    }
  }
  return captured;
}

// OK, or how the tensor at `key` differs from the variable.
absl::Status CheckFits(const Graph& graph, const Fill& fill, const BundleEntry& entry) {
  const absl::StatusOr<PartialShape> shape = graph.GetShape(fill.handle, "shape");
  const bool same_type = entry.dtype == fill.dtype;
  if (same_type && (!shape.ok() || shape->IsCompatibleWith(entry.shape))) return absl::OkStatus();
  const std::string text = absl::StrCat("the value of this variable is '", PrintableName(fill.key),
                                        "' in the checkpoint, which has another ", same_type ? "shape" : "dtype");
  return graph.Locate(fill.handle, Error(ErrorCode::kCheckpointEntry)
                                       .Text(text)
                                       .Found(same_type ? entry.shape.ToString() : std::string(DTypeName(entry.dtype)))
                                       .Expected(same_type ? shape->ToString() : std::string(DTypeName(fill.dtype))));
}

// The variables to fill, and the keys of their values.
absl::StatusOr<std::vector<Fill>> PlanFills(const Graph& graph, NodeId restore, const std::vector<NodeId>& handles,
                                            const ObjectGraph& objects, const BundleIndex& index) {
  const HashMap<NodeId, int32_t> captured = CapturedObjects(graph, objects);
  const HashMap<std::string, NodeId> restored = RestoredVariables(graph, restore);
  HashSet<std::string> filled;
  std::vector<Fill> fills;
  for (const NodeId handle : handles) {
    const auto found = captured.find(handle);
    std::string variable = VariableOf(graph, handle);
    const int32_t object = found != captured.end()
                               ? found->second
                               : objects.VariableCalled(absl::string_view(variable).substr(variable.find('\n') + 1));
    Fill fill;
    fill.handle = handle;
    fill.key = std::string(objects.KeyOf(object));
    if (fill.key.empty() || filled.count(variable) > 0) continue;
    SLUICE_ASSIGN_OR_RETURN(fill.dtype, graph.GetType(handle, "dtype"));
    SLUICE_ASSIGN_OR_RETURN(const BundleEntry* const entry, index.Find(fill.key));
    const absl::Status fits = CheckFits(graph, fill, *entry);
    if (!fits.ok() && found == captured.end()) continue;  // A name may be that of something else.
    SLUICE_RETURN_IF_ERROR(fits);
    const auto source = restored.find(fill.key);
    if (source != restored.end()) {
      SLUICE_ASSIGN_OR_RETURN(const DType dtype, graph.GetType(source->second, "dtype"));
      if (dtype == fill.dtype) fill.source = source->second;
    }
    filled.insert(std::move(variable));
    fills.push_back(std::move(fill));
  }
  return fills;
}

using Attrs = std::vector<std::pair<absl::string_view, AttrValue>>;

// Builds the GraphDef that fills variables: the names of its nodes begin with `name`, that of the last, which runs all.
class FillNodes {
 public:
  explicit FillNodes(std::string name) : name_(std::move(name)), writer_(&bytes_) {}

  std::string Make(const Graph& graph, const std::vector<Fill>& fills) {
    std::vector<std::string> names;
    std::vector<DType> dtypes;
    std::vector<std::string> done;
    for (const Fill& fill : fills) {
      const size_t i = done.size();
      std::string value;
      if (fill.source.valid()) {
        value = Add(absl::StrCat("/value_", i), "ReadVariableOp", {std::string(graph.name(fill.source))},
                    {{"dtype", fill.dtype}});
      } else {
        value = absl::StrCat(name_, "/read:", names.size());
        names.push_back(fill.key);
        dtypes.push_back(fill.dtype);
      }
      const std::string assign = Add(absl::StrCat("/assign_", i), "AssignVariableOp",
                                     {std::string(graph.name(fill.handle)), value}, {{"dtype", fill.dtype}});
      done.push_back(absl::StrCat("^", assign));
    }
    const std::string prefix =
        Add("/prefix", "Placeholder", {}, {{"dtype", DType::kString}, {"shape", PartialShape::Scalar()}});
    if (!names.empty()) {
      const std::vector<absl::string_view> keys(names.begin(), names.end()), whole(names.size());
      const std::string key = AddConstant("/keys", keys), slices = AddConstant("/slices", whole);
      Add("/read", "RestoreV2", {prefix, key, slices}, {{"dtypes", dtypes}});
    }
    Add("", "NoOp", done, {});
    return std::move(bytes_);
  }

 private:
  std::string AddConstant(absl::string_view suffix, const std::vector<absl::string_view>& strings) {
    return Add(suffix, "Const", {}, {{"dtype", DType::kString}, {"value", Tensor::Strings(strings)}});
  }

  // The node's name.
  std::string Add(absl::string_view suffix, absl::string_view op, const std::vector<std::string>& inputs,
                  const Attrs& attrs) {
    std::string name = absl::StrCat(name_, suffix);
    const size_t node = writer_.BeginMessage(1);
    writer_.Bytes(1, name);
    writer_.Bytes(2, op);
    for (const std::string& input : inputs) writer_.Bytes(3, input);
    for (const auto& [key, value] : attrs) {
      const size_t attr = writer_.BeginMessage(5);
      writer_.Bytes(1, key);
      writer_.Bytes(2, value.bytes());
      writer_.EndMessage(attr);
    }
    writer_.EndMessage(node);
    return name;
  }

  const std::string name_;
  std::string bytes_;
  WireWriter writer_;
};

// Returns a name that equal fills share, so that a session that is restored repeatedly gets the nodes once.
std::string NameFor(const std::vector<Fill>& fills) {
  std::string plan;
  for (const Fill& fill : fills) {
    absl::StrAppend(&plan, fill.handle.value(), " ", fill.source.value(), " ", fill.key.size(), " ", fill.key);
  }
  return absl::StrCat("restore_by_objects_", absl::Hex(absl::Hash<std::string>()(plan)));
}

// Reads the message SavedObjectGraph from the model's file; empty if that is unknown, or has several graphs, as the
// objects may be another's.
absl::StatusOr<absl::string_view> SavedObjects(const LoadedGraph& model, std::shared_ptr<const MappedFile>* file) {
  std::error_code failed;
  const std::filesystem::path source(model.source);
  const std::string path =
      std::filesystem::is_directory(source, failed) ? (source / "saved_model.pb").string() : model.source;
  SLUICE_ASSIGN_OR_RETURN(*file, MappedFile::Open(path, LoadLimits().max_file_bytes));
  const std::vector<absl::string_view> graphs = MessagesOf((*file)->bytes(), 2);
  return graphs.size() == 1 ? LastOf(graphs[0], 7) : absl::string_view();
}

// The message TrackableObjectGraph of the checkpoint; empty if it has none.
absl::StatusOr<std::string> StoredObjects(const BundleIndex& index) {
  const absl::StatusOr<const BundleEntry*> entry = index.Find(ObjectGraph::kStoredKey);
  if (!entry.ok() || (*entry)->dtype != DType::kString || !(*entry)->shape.IsScalar() || (*entry)->is_sliced) {
    return std::string();
  }
  Tensor value;
  const auto allocate = [&value](const Shape& shape) -> absl::StatusOr<Tensor*> {
    SLUICE_ASSIGN_OR_RETURN(value, Tensor::Make(DType::kString, shape));
    return &value;
  };
  const Workers workers(nullptr);
  BundleReader reader(index, workers);
  SLUICE_RETURN_IF_ERROR(reader.AddWhole(ObjectGraph::kStoredKey, **entry, allocate));
  SLUICE_RETURN_IF_ERROR(reader.Run());
  return std::string(value.flat<TString>()[0].view());
}

}  // namespace

absl::Status RestoreByObjects(Session& session, const LoadedGraph& model, absl::string_view restore_op,
                              const std::string& prefix, const CallOptions& options) {
  const NodeId restore = model.graph.Find(restore_op);
  const bool is_binary = model.format == GraphFormat::kSavedModel && model.source != "-";
  if (!model.meta.has_object_graph || !is_binary || !model.graph.Contains(restore)) return absl::OkStatus();
  const std::vector<NodeId> handles = HandlesLeft(model.graph, restore);
  if (handles.empty() || !HasBundleIndex(prefix)) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const BundleIndex index, BundleIndex::OpenIndexOnly(prefix));
  std::shared_ptr<const MappedFile> file;
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view saved, SavedObjects(model, &file));
  SLUICE_ASSIGN_OR_RETURN(const std::string stored, StoredObjects(index));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Fill> fills,
                          PlanFills(model.graph, restore, handles, ObjectGraph(saved, stored), index));
  if (fills.empty()) return absl::OkStatus();
  const std::string name = NameFor(fills);
  const std::string added = FillNodes(name).Make(model.graph, fills);
  const absl::Status status = session.Extend(GraphSource::Copy(added, "restore by objects"));
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const bool is_known = info.has_value() && info->code == ErrorCode::kNodeDuplicate;
  if (!status.ok() && !is_known) return status;
  return session.Run({{absl::StrCat(name, "/prefix"), Tensor::String(prefix)}}, {}, {name}, options).status();
}

}  // namespace sluice
