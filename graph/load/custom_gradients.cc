#include "graph/load/custom_gradients.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/file.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/ir/registered_gradients.h"
#include "graph/wire/message_fields.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// What one SavedConcreteFunction says.
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

// By element of the structure of results: which tensor it is, or -1 for None. Nothing where it is no flat list.
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

// The handle of the variable called `name`.
std::string HandleOf(const Graph& graph, absl::string_view name) {
  for (const NodeId id : graph.Nodes()) {
    if (!graph.Is(id, "VarHandleOp")) continue;
    const absl::StatusOr<absl::string_view> shared = graph.GetString(id, "shared_name");
    if (shared.ok() && *shared == name) return std::string(graph.name(id));
  }
  return std::string();
}

// What a node of the object graph stands for as a captured value. Nothing for kinds that none can be found of.
std::optional<CustomGradient::Capture> ReadCapture(absl::string_view object, const Graph& graph) {
  constexpr uint32_t kVariable = 7, kConstant = 9, kCaptured = 12;
  WireReader reader(object);
  while (reader.Next()) {
    CustomGradient::Capture capture;
    if (reader.tag() == WireTag(kCaptured, WireType::kBytes)) {
      capture.tensor = std::string(LastOf(reader.bytes(), 1));
      capture.function = std::string(LastOf(reader.bytes(), 2));
    } else if (reader.tag() == WireTag(kVariable, WireType::kBytes)) {
      capture.tensor = HandleOf(graph, LastOf(reader.bytes(), 6));
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

// The gradient `gradient`, of which type and function are known, as `object_graph` tells of it.
bool Complete(absl::string_view object_graph, const std::vector<absl::string_view>& objects, const Graph& graph,
              CustomGradient* gradient) {
  for (const absl::string_view entry : MessagesOf(object_graph, 2)) {
    if (LastOf(entry, 1) != gradient->function) continue;
    const ConcreteFunction function = ReadConcreteFunction(LastOf(entry, 2));
    std::optional<std::vector<int32_t>> results = ReadResults(function.output_signature);
    if (!results.has_value()) return false;
    gradient->results = *std::move(results);
    for (const int32_t bound : function.bound_inputs) {
      if (bound < 0 || static_cast<size_t>(bound) >= objects.size()) return false;
      std::optional<CustomGradient::Capture> capture = ReadCapture(objects[static_cast<size_t>(bound)], graph);
      if (!capture.has_value()) return false;
      gradient->captures.push_back(*std::move(capture));
    }
    return true;
  }
  return false;
}

}  // namespace

std::vector<CustomGradient> FindCustomGradients(absl::string_view saved_model, const Graph& graph) {
  std::vector<CustomGradient> found;
  for (const absl::string_view meta_graph : MessagesOf(saved_model, 2)) {
    const absl::string_view object_graph = LastOf(meta_graph, 7);
    if (object_graph.empty()) continue;
    const std::vector<absl::string_view> objects = MessagesOf(object_graph, 1);
    for (const auto& [key, function] : graph.library().gradients()) {
      if (!IsRegisteredGradientKey(key)) continue;
      CustomGradient gradient;
      gradient.op_type = std::string(OpTypeOfKey(key));
      gradient.function = function;
      if (Complete(object_graph, objects, graph, &gradient)) found.push_back(std::move(gradient));
    }
  }
  return found;
}

absl::StatusOr<std::vector<CustomGradient>> ReadCustomGradients(const std::string& path, const Graph& graph) {
  const auto& gradients = graph.library().gradients();
  const bool has_any = std::any_of(gradients.begin(), gradients.end(),
                                   [](const auto& entry) { return IsRegisteredGradientKey(entry.first); });
  if (!has_any) return std::vector<CustomGradient>();
  struct stat info;
  const bool is_folder = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  const std::string file = is_folder ? absl::StrCat(path, "/saved_model.pb") : path;
  if (::stat(file.c_str(), &info) != 0) return std::vector<CustomGradient>();  // It is a text, or standard input.
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> mapped,
                          MappedFile::Open(file, LoadLimits().max_file_bytes));
  return FindCustomGradients(mapped->bytes(), graph);
}

}  // namespace sluice
