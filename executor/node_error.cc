#include "executor/node_error.h"

#include <new>
#include <optional>

#include "graph/base/as_status.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status AtNode(const Graph& graph, NodeId id, const absl::Status& status) {
  if (status.ok() || !graph.Contains(id)) return status;
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const absl::Span<const Output> inputs = graph.inputs(id);
  if (info.has_value() && info->input >= 0 && info->input_name.empty() && info->node.empty() &&
      static_cast<size_t>(info->input) < inputs.size()) {
    info->input_name = graph.OutputName(inputs[static_cast<size_t>(info->input)]);
    return graph.Locate(id, MakeError(*info));
  }
  return graph.Locate(id, status);
}

absl::Status StatusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kOutOfMemory).Text("the kernel could not get the memory it needs");
  } catch (...) {
    return StatusOfCaught(ErrorCode::kKernelException);
  }
}

}  // namespace sluice
