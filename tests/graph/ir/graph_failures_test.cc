// A change of a graph for which there is no memory leaves the graph as it was: every allocation of it fails once.
//
// Sanitizers have an operator new of their own: there the changes are made, and nothing fails.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/as_status.h"
#include "graph/ir/graph.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.

using Change = std::function<absl::Status(Graph& graph)>;
using Check = std::function<void(Graph& graph)>;

// Calls `change` for copies of `before`, failing one allocation after another until none is left to fail, and `check`
// after each.
void FailEachAllocation(const Graph& before, const Change& change, const Check& check) {
  for (int64_t n = 1, has_failed = 1; has_failed != 0; ++n) {
    Graph graph = before;  // With no room to grow.
    FailNewCall(n);
    const absl::Status status = AsStatus([&] { return change(graph); });
    has_failed = HasFailedNewCall() ? 1 : 0;
    FailNewCall(0);
    if (has_failed == 0) {
      ASSERT_OK(status);
#ifdef SLUICE_COUNTS_NEW
      EXPECT_GT(n, 1) << "it allocates nothing";
#endif
      break;
    }
    SCOPED_TRACE(n);
    if (status.ok()) continue;  // It did without.
    ASSERT_EQ(graph.num_nodes(), before.num_nodes());
    ASSERT_EQ(graph.id_limit(), before.id_limit());
    check(graph);
  }
}

class GraphFailuresTest : public ::testing::Test {
 protected:
  GraphFailuresTest() : graph_(NewOpRegistry()) {
    options_.ops = graph_.ops();
    EXPECT_OK(Import(graph_, {PlaceholderNode("x"), UnaryNode("r", "Relu", {"x"})}));
  }
  absl::Status Import(Graph& graph, const std::vector<MessageBytes>& nodes) const {
    return ImportInto(graph, GraphSource::Copy(GraphDefBytes(nodes)), options_).status();
  }

  ImportOptions options_;
  Graph graph_;
};

TEST_F(GraphFailuresTest, AnImportIntoAGraphLeavesNoNames) {
  const std::vector<MessageBytes> nodes = {PlaceholderNode("a"), UnaryNode("b", "Relu", {"a"}),
                                           UnaryNode("c", "Relu", {"b"})};
  const auto import = [&](Graph& graph) { return Import(graph, nodes); };
  FailEachAllocation(graph_, import, [&](Graph& graph) {
    // A name left behind leads to the next node of that id.
    for (const char* const name : {"a", "b", "c"}) {
      const absl::StatusOr<NodeId> id = graph.AddNode({name, "NoOp", {}, {}, {}, ""});
      ASSERT_OK(id);
      graph.RemoveNode(*id);
      EXPECT_LT(graph.Find(name).value(), 0) << name;
    }
    ASSERT_OK(Import(graph, nodes));
    EXPECT_EQ(graph.OutputName(graph.inputs(graph.Find("c"))[0]), "b");
  });
}

// The tables of names of attrs, of devices, of ops and of signatures grow, and are good after they could not.
TEST_F(GraphFailuresTest, AnImportOfMuchThatIsNewLeavesSoundTables) {
  constexpr int kNodes = 40;
  std::vector<MessageBytes> nodes;
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = absl::StrCat("n", i);
    nodes.push_back(NodeDefBytes(name, "Split", {"x", "x"},
                                 {{"T", TypeAttr(3)}, {"num_split", IntAttr(i + 1)}, {"_" + name, IntAttr(i)}},
                                 absl::StrCat("/cpu:", i)));
  }
  Graph before(graph_.ops());
  options_.extends = true;
  ASSERT_OK(Import(before, {PlaceholderNode("x", 3)}));
  const auto import = [&](Graph& graph) { return Import(graph, nodes); };
  FailEachAllocation(before, import, [&](Graph& graph) {
    ASSERT_OK(Import(graph, nodes));
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = absl::StrCat("n", i);
      const NodeId id = graph.Find(name);
      EXPECT_EQ(graph.device(id), absl::StrCat("/cpu:", i));
      EXPECT_EQ(graph.num_outputs(id), i + 1);
      EXPECT_TRUE(graph.HasAttr(id, "_" + name));
      EXPECT_FALSE(graph.HasAttr(id, absl::StrCat("_n", i + 1)));
    }
  });
}

TEST_F(GraphFailuresTest, ANodeWithAWrongEdgeIsNotThere) {
  const Output x{graph_.Find("x"), 0}, no_output{graph_.Find("x"), 1};
  const auto add = [](Graph& graph, const Output& input) {
    return graph.AddNode({"y", "Relu", {input}, {}, {{"T", DType::kFloat}}, ""}).status();
  };
  const auto add_wrong = [&](Graph& graph) {
    const absl::Status status = add(graph, no_output);
    return status.code() == absl::StatusCode::kResourceExhausted ? status : absl::OkStatus();
  };
  FailEachAllocation(graph_, add_wrong, [&](Graph& graph) {
    EXPECT_LT(graph.Find("y").value(), 0);
    ASSERT_OK(add(graph, x));
    EXPECT_EQ(graph.Find("y").value(), 2);
  });
}

// At the sizes at which the list of edges moves, or the set of them is made (16).
TEST_F(GraphFailuresTest, AControlEdgeWithoutMemoryIsNotThere) {
  std::vector<NodeId> sources;
  ASSERT_OK_AND_ASSIGN(const NodeId reader, graph_.AddNode({"reader", "NoOp", {}, {}, {}, ""}));
  for (int count = 0; count <= 30; ++count) {
    ASSERT_OK_AND_ASSIGN(const NodeId source, graph_.AddNode({absl::StrCat("s", count), "NoOp", {}, {}, {}, ""}));
    sources.push_back(source);
    const auto add = [&](Graph& graph) { return graph.AddControl(reader, source); };
    const auto expect_edges = [&](const Graph& graph, int expected) {
      ASSERT_EQ(graph.controls(reader).size(), static_cast<size_t>(expected));
      for (size_t i = 0; i < static_cast<size_t>(expected); ++i) {
        EXPECT_EQ(graph.controls(reader)[i].node, sources[i]);
      }
    };
    if (count == 2 || count == 6 || count == 14 || count == 16 || count == 30) {
      SCOPED_TRACE(count);
      FailEachAllocation(graph_, add, [&](Graph& graph) {
        expect_edges(graph, count);
        ASSERT_OK(add(graph));
        ASSERT_OK(add(graph));
        expect_edges(graph, count + 1);
      });
    }
    ASSERT_OK(add(graph_));
  }
}

}  // namespace
}  // namespace sluice
