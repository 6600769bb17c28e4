#include "graph/placement/unknown_colocation.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/placement/colocation.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Groups = std::vector<std::string>;

// A graph of Placeholders that list groups.
class UnknownColocationTest : public testing::Test {
 protected:
  UnknownColocationTest() : b_(NewOpRegistry()) {}

  NodeId Add(absl::string_view name, const Groups& groups) {
    return b_.Op("Placeholder", name, {}, {{"dtype", DType::kFloat}, {"_class", groups}}).node;
  }
  Groups GroupsOf(NodeId id) {
    AttrView value;
    if (!b_.graph().FindAttr(id, "_class", &value)) return {"no attr"};
    const std::vector<absl::string_view> groups = *value.AsStringList();
    return Groups(groups.begin(), groups.end());
  }
  std::vector<NodeId> Roots() {
    const ColocationGroups groups(b_.graph());
    std::vector<NodeId> roots;
    for (const NodeId id : b_.graph().Nodes()) roots.push_back(groups.Root(id));
    return roots;
  }

  GraphBuilder b_;
};

TEST_F(UnknownColocationTest, NodesThatAreNotThereAreFoundWithThoseThatNameThem) {
  const NodeId a = Add("a", {"loc:@a", "loc:@gone", "gone_too"});
  Add("b", {"loc:@a"});
  const NodeId c = Add("c", {"loc:@lost", "loc:@gone"});
  const std::vector<UnknownColocation> unknown = FindUnknownColocations(b_.graph());
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[0].name, "gone");
  EXPECT_EQ(unknown[0].first, a);
  EXPECT_EQ(unknown[0].nodes, 2);
  EXPECT_EQ(unknown[1].name, "lost");
  EXPECT_EQ(unknown[1].first, c);
  EXPECT_EQ(unknown[1].nodes, 1);
}

TEST_F(UnknownColocationTest, GroupsStayWhereTheirNamesGo) {
  const NodeId x = Add("x", {"loc:@gone"});
  const NodeId y = Add("y", {"loc:@lost"});
  const NodeId z = Add("z", {"loc:@gone", "loc:@x", "other"});
  const NodeId w = Add("w", {"loc:@lost", "loc:@alone"});
  Add("apart", {"loc:@apart"});
  const std::vector<NodeId> before = Roots();
  ASSERT_OK(TieUnknownColocations(b_.graph()));
  EXPECT_TRUE(FindUnknownColocations(b_.graph()).empty());
  EXPECT_EQ(Roots(), before);
  EXPECT_EQ(GroupsOf(x), Groups{"no attr"});
  EXPECT_EQ(GroupsOf(y), Groups{"no attr"});
  EXPECT_EQ(GroupsOf(z), (Groups{"loc:@x", "loc:@x", "other"}));
  EXPECT_EQ(GroupsOf(w), Groups{"loc:@y"});
}

TEST_F(UnknownColocationTest, SoundGraphsStayAsTheyAre) {
  const NodeId a = Add("a", {"loc:@b", "word"});
  Add("b", {});
  ASSERT_OK(TieUnknownColocations(b_.graph()));
  EXPECT_EQ(GroupsOf(a), (Groups{"loc:@b", "word"}));
}

}  // namespace
}  // namespace sluice
