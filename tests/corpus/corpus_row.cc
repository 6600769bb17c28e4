#include "tests/corpus/corpus_row.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "graph/functions/check.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/import.h"
#include "graph/ir/runnable_check.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::shared_ptr<const OpRegistry> Ops() {
  return std::shared_ptr<const OpRegistry>(std::shared_ptr<const void>(), &BuiltinOps());
}

// The properties of the first line of a report: it stands alone, is short, and is safe to print.
void ExpectGoodFirstLine(const absl::Status& status) {
  const std::string line = FormatError(status, /*one_line=*/true);
  EXPECT_LE(line.size(), 260u) << line;
  for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  EXPECT_TRUE(absl::StartsWith(line, "SLC")) << line;
}

// The node's place in the file is where its name stands.
void ExpectPlace(const CorpusRow& row, const ErrorInfo& info) {
  if (!row.in_function) {
    EXPECT_GE(info.node_index, 0);
  }
  ASSERT_GE(info.byte_begin, 0);
  const int64_t end = info.byte_end < 0 ? info.byte_begin : info.byte_end;
  ASSERT_LE(end, static_cast<int64_t>(row.graph.size()));
  if (info.byte_end < 0) return;
  const absl::string_view place = absl::string_view(row.graph).substr(static_cast<size_t>(info.byte_begin),
                                                                      static_cast<size_t>(end - info.byte_begin));
  EXPECT_TRUE(absl::StrContains(place, row.node)) << info.byte_begin << "-" << info.byte_end;
}

void ExpectFacts(const CorpusRow& row, const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  ASSERT_TRUE(info.has_value()) << status;
  EXPECT_TRUE(std::find(row.codes.begin(), row.codes.end(), info->code) != row.codes.end())
      << "code " << static_cast<int>(info->code);
  if (!row.node.empty()) {
    EXPECT_EQ(info->node, row.node);
    EXPECT_EQ(info->op, row.op);
    ExpectPlace(row, *info);
  }
  if (row.input >= 0) {
    EXPECT_EQ(info->input, row.input);
  }
  if (!row.attr.empty()) {
    EXPECT_EQ(info->attr, row.attr);
  }
  if (!row.function.empty()) {
    EXPECT_EQ(info->function, row.function);
  }
  if (row.has_offset) {
    EXPECT_GE(info->byte_begin, 0);
    EXPECT_LE(info->byte_begin, static_cast<int64_t>(row.graph.size()));
  }
  EXPECT_TRUE(absl::StrContains(status.message(), row.word)) << "no '" << row.word << "' in the message";
  EXPECT_EQ(AllErrors(status).size(), row.num_errors);
  ExpectGoodFirstLine(status);
}

}  // namespace

absl::StatusOr<Graph> LoadCorpusGraph(absl::string_view bytes) {
  ImportOptions options;
  options.ops = Ops();
  absl::StatusOr<Graph> graph = ImportGraph(GraphSource::Copy(bytes), options);
  if (!graph.ok()) return graph;
  const absl::Status frames = BuildControlFlowInfo(*graph, options.limits).status();
  if (!frames.ok()) return frames;
  const absl::Status minimums = CheckRunnable(*graph);
  if (!minimums.ok()) return minimums;
  const absl::Status functions = CheckFunctions(*graph, FunctionCheckOptions(), /*errors=*/nullptr);
  if (!functions.ok()) return functions;
  return graph;
}

void ExpectRefused(const CorpusRow& row) {
  // The first load fills the op registry, which keeps what it has looked up.
  (void)LoadCorpusGraph(row.graph).status();
  const int64_t tensors_before = HostAllocatorLiveBytes();
  const int64_t live_before = LiveNewBytes();
  ResetPeakNewBytes();
  {
    const absl::Status status = LoadCorpusGraph(row.graph).status();
    SCOPED_TRACE(FormatError(status));
    ExpectFacts(row, status);
  }
  constexpr int64_t kFixed = 1 << 20;  // For tables, messages and the test's own strings.
  EXPECT_LE(PeakNewBytes() - live_before, kFixed + 20 * static_cast<int64_t>(row.graph.size()));
  EXPECT_LE(LiveNewBytes() - live_before, 4096) << "bytes kept after a failed load";
  EXPECT_EQ(HostAllocatorLiveBytes(), tensors_before);
  const std::string good =
      graph_bytes::GraphDefBytes({graph_bytes::PlaceholderNode("x"), graph_bytes::UnaryNode("y", "Relu", {"x"})});
  const absl::StatusOr<Graph> graph = LoadCorpusGraph(good);
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->num_nodes(), 2u);
}

}  // namespace sluice
