#include "graph/load/graph_extender.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/functions/check.h"
#include "graph/load/findings.h"
#include "graph/placement/reachable_functions.h"

namespace sluice {
namespace {

constexpr size_t kFirstPiece = size_t{64} << 10;
// A piece holds at least this part of what was added before it: then there are few, and little of them is unused.
constexpr size_t kPartOfAll = 8;

// Checks the functions that the library of `graph` has beyond the first `known` ones, with all that they call; what is
// wrong in a body alone fails the step that calls it. A recursive function is not an error here: no step calls it yet.
absl::Status CheckAddedFunctions(const Graph& graph, size_t known, const LoadLimits& limits) {
  std::vector<std::string> names = graph.library().NamesAsAdded();
  if (names.size() <= known) return absl::OkStatus();
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(known));
  Graph functions(graph.ops());
  functions.library() = ReachableFrom(graph.library(), names);
  functions.versions() = graph.versions();
  FunctionCheckOptions options;
  options.limits = limits;
  const absl::Status found = CheckFunctions(functions, options, /*errors=*/nullptr);
  ErrorCollector refused, deferred;
  for (const absl::Status& error : AllErrors(found)) {
    const std::optional<ErrorInfo> info = ErrorInfoOf(error);
    const bool is_recursion = info.has_value() && info->code == ErrorCode::kFunctionRecursion;
    if (is_recursion) refused.Add(error);
    if (!is_recursion && !error.ok()) SortFindings(functions, error, &refused, &deferred);
  }
  return refused.Finish();
}

}  // namespace

GraphSource GraphExtender::Keep(GraphSource added) {
  const size_t size = added.bytes.size();
  if (added.owner != nullptr && size >= kFirstPiece && size >= total_ / kPartOfAll) return added;
  if (size > piece_bytes_ - used_) {
    const size_t wanted = std::max({kFirstPiece, size, total_ / kPartOfAll});
    piece_ = std::shared_ptr<char[]>(new char[wanted]);  // make_shared of arrays is C++20.
    piece_bytes_ = wanted;
    used_ = 0;
  }
  char* const copy = piece_.get() + used_;
  if (size > 0) std::memcpy(copy, added.bytes.data(), size);
  added.bytes = absl::string_view(copy, size);
  added.owner = piece_;
  return added;
}

absl::Status GraphExtender::Extend(Graph& graph, GraphSource added, const LoadLimits& limits) {
  ImportOptions import_options;
  import_options.limits = limits;
  import_options.extends = true;
  ErrorCollector deferred;  // Steps find it again: Note [What TensorFlow imports].
  import_options.deferred = &deferred;
  const size_t known = graph.library().size();
  import_options.accept = [known, &limits](const Graph& extended, int32_t) {
    return CheckAddedFunctions(extended, known, limits);
  };
  const size_t size = added.bytes.size();
  GraphSource kept = Keep(std::move(added));
  const bool is_in_piece = kept.owner == piece_ && piece_ != nullptr;
  SLUICE_RETURN_IF_ERROR(ImportInto(graph, std::move(kept), import_options).status());
  if (is_in_piece) used_ += size;  // Only now: what failed is overwritten.
  total_ += size;
  return absl::OkStatus();
}

}  // namespace sluice
