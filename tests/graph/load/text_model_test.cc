#include "graph/load/text_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(ParseTextModelTest, RemembersWhereNodesStand) {
  const std::string text = "node { name: 'a' op: 'NoOp' }\n\n  node {\n name: 'b' op: 'NoOp' }\n";
  ASSERT_OK_AND_ASSIGN(const TextModel model, ParseTextModel(text, GraphFormat::kGraphDefText, {}));
  ASSERT_EQ(model.node_places.size(), 1u);
  ASSERT_EQ(model.node_places[0].size(), 2u);
  EXPECT_EQ(model.node_places[0][0], std::make_pair(1, 1));
  EXPECT_EQ(model.node_places[0][1], std::make_pair(3, 3));
}

TEST(ParseTextModelTest, ASavedModelHasPlacesForEachGraph) {
  const std::string text =
      "meta_graphs { graph_def { node { name: 'a' } } }\nmeta_graphs {\ngraph_def {\nnode { name: 'b' } } }";
  ASSERT_OK_AND_ASSIGN(const TextModel model, ParseTextModel(text, GraphFormat::kSavedModelText, {}));
  ASSERT_EQ(model.node_places.size(), 2u);
  ASSERT_EQ(model.node_places[1].size(), 1u);
  EXPECT_EQ(model.node_places[1][0].first, 4);
}

TEST(ParseTextModelTest, ErrorsNameLineAndColumn) {
  const absl::Status status =
      ParseTextModel("node {\n  name: 'a'\n  opp: 'NoOp'\n}", GraphFormat::kGraphDefText, {}).status();
  ASSERT_THAT(status, IsError(ErrorCode::kFileText, "\"NodeDef\" has no field named \"opp\""));
  EXPECT_EQ(ErrorInfoOf(status)->line, 3);
  EXPECT_GT(ErrorInfoOf(status)->column, 0);
}

TEST(ParseTextModelTest, UnclosedMessagesAreErrors) {
  EXPECT_THAT(ParseTextModel("node {", GraphFormat::kGraphDefText, {}), IsError(ErrorCode::kFileText));
  EXPECT_THAT(ParseTextModel("node { name: \"a", GraphFormat::kGraphDefText, {}), IsError(ErrorCode::kFileText));
}

TEST(ParseTextModelTest, DeepNestingIsRefused) {
  std::string text = "node { name: 'a' op: 'X' attr { key: 'f' value {";
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&text, " func { name: 'F' attr { key: 'f' value {");
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&text, "}}}");
  absl::StrAppend(&text, "} } }");
  const absl::Status status = ParseTextModel(text, GraphFormat::kGraphDefText, {}).status();
  ASSERT_THAT(status, IsError(ErrorCode::kLimitDepth));
  EXPECT_EQ(ErrorInfoOf(status)->limit_value, 100);
}

}  // namespace
}  // namespace sluice
