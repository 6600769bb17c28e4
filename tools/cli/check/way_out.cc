#include "tools/cli/check/way_out.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// The kinds of op that have a way out.
enum class Gap : uint8_t { kNone, kIterator, kDataset, kPython, kQueue, kTpu, kXla, kDebug };

struct GapRule {
  absl::string_view word;
  bool at_start;
  Gap gap;
};

// The first rule that fits decides.
constexpr GapRule kRules[] = {
    {"IteratorGetNext", true, Gap::kIterator},
    {"OptionalGetValue", true, Gap::kIterator},
    {"MultiDeviceIterator", true, Gap::kDataset},
    {"Iterator", false, Gap::kDataset},
    {"Dataset", false, Gap::kDataset},
    {"PyFunc", false, Gap::kPython},
    {"TPU", false, Gap::kTpu},
    {"Tpu", false, Gap::kTpu},
    {"Xla", true, Gap::kXla},
    {"_Xla", true, Gap::kXla},
    {"QueueDequeue", true, Gap::kQueue},
    {"Reader", true, Gap::kQueue},
    {"Debug", true, Gap::kDebug},
};

Gap GapOf(absl::string_view op) {
  for (const GapRule& rule : kRules) {
    if (rule.at_start ? absl::StartsWith(op, rule.word) : absl::StrContains(op, rule.word)) return rule.gap;
  }
  return Gap::kNone;
}

// "feed 'it:0' (float32) and 'it:1' (int64)".
std::string FeedInstead(const Graph& graph, NodeId id) {
  constexpr int32_t kMaxListed = 4;
  std::vector<std::string> outputs;
  for (int32_t i = 0; i < std::min(graph.num_outputs(id), kMaxListed); ++i) {
    outputs.push_back(
        absl::StrCat("'", PrintableName(graph.name(id)), ":", i, "' (", DTypeName(graph.output_type(id, i)), ")"));
  }
  const int32_t more = graph.num_outputs(id) - kMaxListed;
  const std::string rest = more > 0 ? absl::StrCat(" and ", more, " more outputs") : "";
  return outputs.empty() ? "fetch what does not need it" : absl::StrCat("feed ", absl::StrJoin(outputs, ", "), rest);
}

}  // namespace

bool IsOutOfScope(absl::string_view op) {
  const Gap gap = GapOf(op);
  return gap != Gap::kNone && gap != Gap::kQueue && gap != Gap::kXla;
}

std::string WayOut(const Graph& graph, NodeId id) {
  switch (GapOf(graph.op_name(id))) {
    case Gap::kIterator:
      return absl::StrCat("tf.data does not run here: ", FeedInstead(graph, id), " instead");
    case Gap::kDataset:
      return "tf.data does not run here: feed what its IteratorGetNext gives; then this is not needed";
    case Gap::kPython:
      return absl::StrCat("there is no Python here: ", FeedInstead(graph, id), ", or export without it");
    case Gap::kQueue:
      return absl::StrCat("an input pipeline: ", FeedInstead(graph, id), " instead");
    case Gap::kTpu:
      return "made for a TPU: export the model again for CPU or GPU";
    case Gap::kXla:
      return "made by XLA's rewriter: export the graph from before it ran";
    case Gap::kDebug:
      return "put in by the debugger: export the graph without it";
    case Gap::kNone:
      return "";
  }
  return "";
}

}  // namespace sluice
