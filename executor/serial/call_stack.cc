#include "executor/serial/call_stack.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "executor/plan/node_error.h"
#include "graph/base/error.h"

namespace sluice {

std::string CallStack::Path(size_t begin, size_t end) const {
  std::string path;
  for (size_t i = begin; i < end; ++i) {
    const absl::string_view name = calls[i].caller->graph().name(NodeId(calls[i].call->io.id));
    path.append(name.data(), name.size());
    path.push_back('/');
  }
  return path;
}

absl::Status CallStack::AtCalls(const absl::Status& status) const noexcept {
  if (calls.empty()) return status;
  try {
    std::optional<ErrorInfo> info = ErrorInfoOf(status);
    if (!info.has_value() || info->node.empty()) return status;
    // An argument is what the innermost caller gives that does not itself have it as an argument.
    std::string input = std::move(info->input_name);
    size_t depth = calls.size();
    for (; depth > 0; --depth) {
      const SerialCall& call = calls[depth - 1];
      std::string given = ArgumentName(call.caller->graph(), NodeId(call.call->io.id), input);
      if (given.empty()) break;
      input = std::move(given);
    }
    const std::string path = Path(0, calls.size());
    info->node.insert(0, path);
    if (!input.empty()) info->input_name = absl::StrCat(Path(0, depth), input);
    return MakeError(*info);
  } catch (...) {
    return status;  // There is no memory for names.
  }
}

}  // namespace sluice
