#include "graph/load/findings.h"

#include <optional>

#include "graph/placement/reachable_functions.h"

namespace sluice {
namespace {

// The functions that nodes of the graph lead to. Found when it is asked for.
class CalledFunctions {
 public:
  explicit CalledFunctions(const Graph& graph) : graph_(graph) {}

  bool IsNode(absl::string_view name) const { return graph_.Contains(graph_.Find(name)); }
  bool Contain(const std::string& function) {
    if (!called_.has_value()) {
      called_ = graph_;
      KeepReachableFunctions(*called_);
    }
    return called_->library().Contains(function);
  }

 private:
  const Graph& graph_;
  std::optional<Graph> called_;
};

bool IsLimit(ErrorCode code) { return code >= ErrorCode::kLimitFileSize; }

bool FailsImport(const absl::Status& error, CalledFunctions* called) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(error);
  if (!info.has_value() || IsLimit(info->code) || info->code == ErrorCode::kFunctionDuplicate) return true;
  if (info->code == ErrorCode::kFunctionRecursion) return called->Contain(info->function);
  if (info->code == ErrorCode::kAttrUnbound) return called->IsNode(info->node);  // It names what it calls as function.
  return info->code == ErrorCode::kFunctionUnknown && info->function.empty();
}

}  // namespace

void SortFindings(const Graph& graph, const absl::Status& found, ErrorCollector* refused, ErrorCollector* deferred) {
  CalledFunctions called(graph);
  for (const absl::Status& error : AllErrors(found)) {
    if (!error.ok()) (FailsImport(error, &called) ? refused : deferred)->Add(error);
  }
}

}  // namespace sluice
