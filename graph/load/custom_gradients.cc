#include "graph/load/custom_gradients.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/ir/registered_gradients.h"
#include "graph/wire/message_fields.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// The contents of one SavedConcreteFunction.
struct ConcreteFunction {
  std::vector<int32_t> bound_inputs;  // Nodes of the object graph: the captures.
  absl::string_view output_signature;
};

ConcreteFunction ReadConcreteFunction(absl::string_view message) {
  ConcreteFunction function;
  WireReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 2) {
      ForEachVarint(reader, [&](uint64_t value) {
        function.bound_inputs.push_back(static_cast<int32_t>(value));
      }).IgnoreError();  // Then captures are missing, which is found where they are handed over.
    } else if (reader.tag() == WireTag(4, WireType::kBytes)) {
      function.output_signature = reader.bytes();
    }
  }
  return function;
}

// Field numbers of StructuredValue.
constexpr uint32_t kNoneValue = 1, kTensorSpec = 33, kList = 51, kTuple = 52;

// By element of the structure of results: which tensor it is, or -1 for None. Without a value if it is not a flat list.
std::optional<std::vector<int32_t>> ReadResults(absl::string_view signature) {
  std::vector<int32_t> results;
  int32_t next = 0;
  WireReader structure(signature);
  while (structure.Next()) {
    if (structure.field() == kTensorSpec) return std::vector<int32_t>{0};  // One result alone.
    if (structure.field() != kList && structure.field() != kTuple) return std::nullopt;
    for (const absl::string_view element : MessagesOf(structure.bytes(), 1)) {
      WireReader value(element);
      if (!value.Next()) return std::nullopt;
      if (value.field() != kNoneValue && value.field() != kTensorSpec) return std::nullopt;
      results.push_back(value.field() == kTensorSpec ? next++ : -1);
    }
  }
  return results;
}

// Reads the object graph of one model. Lives for one FindCustomGradients.
class ObjectGraphReader {
 public:
  ObjectGraphReader(absl::string_view object_graph, const Graph& graph, StopPoll* stop, int64_t max_values)
      : object_graph_(object_graph), graph_(graph), stop_(stop), max_values_(max_values) {}

  // Finds where everything stands: objects by number, functions by name, the handles of variables by their names.
  absl::Status Index() {
    WireReader reader(object_graph_);
    while (reader.Next()) {
      SLUICE_RETURN_IF_ERROR(PollStop(stop_));
      if (reader.tag() == WireTag(1, WireType::kBytes)) objects_.push_back(reader.bytes());
      if (reader.tag() == WireTag(2, WireType::kBytes)) {
        functions_[LastOf(reader.bytes(), 1)] = LastOf(reader.bytes(), 2);
      }
    }
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      const NodeId id(i);
      SLUICE_RETURN_IF_ERROR(PollStop(stop_));
      if (!graph_.Contains(id) || !graph_.Is(id, "VarHandleOp")) continue;
      const absl::StatusOr<absl::string_view> shared = graph_.GetString(id, "shared_name");
      if (shared.ok()) handles_.emplace(*shared, id);
    }
    return absl::OkStatus();
  }

  // Fills in the rest of `gradient`, whose type and function are set. False: the object graph does not say all of it.
  absl::StatusOr<bool> Complete(CustomGradient* gradient) {
    const auto found = functions_.find(gradient->function);
    if (found == functions_.end()) return false;
    const ConcreteFunction function = ReadConcreteFunction(found->second);
    std::optional<std::vector<int32_t>> results = ReadResults(function.output_signature);
    if (!results.has_value()) return false;
    gradient->results = *std::move(results);
    SLUICE_RETURN_IF_ERROR(Count(gradient->results.size() + function.bound_inputs.size()));
    for (const int32_t bound : function.bound_inputs) {
      SLUICE_RETURN_IF_ERROR(PollStop(stop_));
      if (bound < 0 || static_cast<size_t>(bound) >= objects_.size()) return false;
      std::optional<CustomGradient::Capture> capture = ReadCapture(objects_[static_cast<size_t>(bound)]);
      if (!capture.has_value()) return false;
      gradient->captures.push_back(*std::move(capture));
    }
    return true;
  }

 private:
  // A small file may register one large function for many types.
  absl::Status Count(size_t values) {
    num_values_ += static_cast<int64_t>(values);
    SLUICE_RETURN_IF_ERROR(PollStop(stop_, static_cast<int64_t>(values)));
    if (num_values_ <= max_values_) return absl::OkStatus();
    return Error(ErrorCode::kLimitNodes)
        .Limit("max_expanded_nodes", max_values_)
        .Text("the gradients that the model registers have too many results and captured values");
  }

  // The captured value that an object stands for. Without a value for other kinds of objects.
  std::optional<CustomGradient::Capture> ReadCapture(absl::string_view object) const {
    constexpr uint32_t kVariable = 7, kConstant = 9, kCaptured = 12;
    WireReader reader(object);
    while (reader.Next()) {
      CustomGradient::Capture capture;
      if (reader.tag() == WireTag(kCaptured, WireType::kBytes)) {
        capture.tensor = std::string(LastOf(reader.bytes(), 1));
        capture.function = std::string(LastOf(reader.bytes(), 2));
      } else if (reader.tag() == WireTag(kVariable, WireType::kBytes)) {
        const auto handle = handles_.find(LastOf(reader.bytes(), 6));
        if (handle != handles_.end()) capture.tensor = std::string(graph_.name(handle->second));
      } else if (reader.tag() == WireTag(kConstant, WireType::kBytes)) {
        capture.tensor = std::string(LastOf(reader.bytes(), 1));
      } else {
        continue;
      }
      if (capture.tensor.empty()) return std::nullopt;
      return capture;
    }
    return std::nullopt;
  }

  const absl::string_view object_graph_;
  const Graph& graph_;
  StopPoll* const stop_;
  const int64_t max_values_;
  std::vector<absl::string_view> objects_;
  HashMap<absl::string_view, absl::string_view> functions_;
  HashMap<absl::string_view, NodeId> handles_;
  int64_t num_values_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<CustomGradient>> FindCustomGradients(absl::string_view object_graph, const Graph& graph,
                                                                StopPoll* stop, const LoadLimits& limits) {
  std::vector<CustomGradient> found;
  const auto& gradients = graph.library().gradients();
  const bool has_any = std::any_of(gradients.begin(), gradients.end(),
                                   [](const auto& entry) { return IsRegisteredGradientKey(entry.first); });
  if (!has_any || object_graph.empty()) return found;
  ObjectGraphReader objects(object_graph, graph, stop, limits.max_expanded_nodes);
  SLUICE_RETURN_IF_ERROR(objects.Index());
  for (const auto& [key, function] : gradients) {
    SLUICE_RETURN_IF_ERROR(PollStop(stop));
    if (!IsRegisteredGradientKey(key)) continue;
    CustomGradient gradient;
    gradient.op_type = std::string(OpTypeOfKey(key));
    gradient.function = function;
    SLUICE_ASSIGN_OR_RETURN(const bool is_complete, objects.Complete(&gradient));
    if (is_complete) found.push_back(std::move(gradient));
  }
  return found;
}

absl::StatusOr<std::vector<CustomGradient>> FindCustomGradients(const LoadedGraph& model, StopPoll* stop,
                                                                const LoadLimits& limits) {
  return FindCustomGradients(model.objects.bytes, model.graph, stop, limits);
}

}  // namespace sluice
