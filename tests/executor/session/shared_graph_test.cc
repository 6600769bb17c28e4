// Sessions over a graph that others read too.

#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class SharedGraphTest : public ::testing::Test {
 protected:
  SharedGraphTest() {
    GraphBuilder b(NewOpRegistry());
    const Output x = b.Placeholder("x", DType::kInt32);
    b.Op("AddV2", "y", {x, b.Const("one", Tensor::Scalar(int32_t{1}))});
    absl::StatusOr<Graph> built = b.Build();
    EXPECT_OK(built);
    if (built.ok()) graph_ = std::make_shared<const Graph>(*std::move(built));
  }
  std::unique_ptr<Session> Open() {
    absl::StatusOr<std::unique_ptr<Session>> made = Session::Create(SessionOptions(), graph_);
    EXPECT_OK(made);
    return made.ok() ? *std::move(made) : nullptr;
  }
  static void ExpectFetch(Session& session, const std::string& name, int32_t expected) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                         session.Run({{"x", Tensor::Scalar(int32_t{4})}}, {name}, {}));
    EXPECT_EQ(*values[0].AsScalar<int32_t>(), expected);
  }

  std::shared_ptr<const Graph> graph_;
};

TEST_F(SharedGraphTest, SessionsReadOneGraphAndKeepIt) {
  const auto first = Open(), second = Open();
  const std::weak_ptr<const Graph> graph = graph_;
  graph_ = nullptr;
  ExpectFetch(*first, "y", 5);
  ExpectFetch(*second, "y", 5);
  ASSERT_OK(first->Finalize());
  EXPECT_FALSE(graph.expired());
  ASSERT_OK(second->Finalize());
  EXPECT_TRUE(graph.expired()) << "nobody made a copy";
  ExpectFetch(*second, "y", 5);
}

TEST_F(SharedGraphTest, NoGraphIsRefused) {
  const auto made = Session::Create(SessionOptions(), std::shared_ptr<const Graph>());
  EXPECT_THAT(made.status(), IsError(ErrorCode::kWrongUse, "there is no graph"));
}

TEST_F(SharedGraphTest, AnAdditionGoesToACopy) {
  const auto session = Open(), other = Open();
  GraphBuilder b{Graph(*graph_)};
  const Output y{graph_->Find("y"), 0};
  const Output z = b.Op("Mul", "z", {y, y});
  ASSERT_OK(b.status());
  const size_t before = graph_->num_nodes();
  std::string node = ExportNode(b.graph(), z.node), added;
  WireWriter(&added).Bytes(1, node);
  for (int i = 0; i < 2; ++i) {  // The second finds the name taken: the session is as it was.
    EXPECT_EQ(session->Extend(GraphSource::Copy(added)).ok(), i == 0);
    ExpectFetch(*session, "z", 25);
    ExpectFetch(*session, "y", 5);
  }
  EXPECT_EQ(graph_->num_nodes(), before);
  EXPECT_FALSE(other->Run({{"x", Tensor::Scalar(int32_t{4})}}, {"z"}, {}).ok());
  ExpectFetch(*other, "y", 5);
}

}  // namespace
}  // namespace sluice
