#include "graph/load/text_model.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(ParseTextModelTest, RemembersWhereNodesStand) {
  const std::string text = "node { name: 'a' op: 'NoOp' }\n\n  node {\n name: 'b' op: 'NoOp' }\n";
  ASSERT_OK_AND_ASSIGN(const TextModel model, ParseTextModel(text, GraphFormat::kGraphDefText, {}));
  ASSERT_EQ(model.graphs.size(), 1u);
  ASSERT_EQ(model.graphs[0].nodes.size(), 2u);
  EXPECT_EQ(model.graphs[0].nodes[0].line, 1);
  EXPECT_EQ(model.graphs[0].nodes[1].line, 3);
  EXPECT_EQ(model.graphs[0].nodes[1].column, 3);
}

TEST(ParseTextModelTest, AByteOrderMarkIsSkipped) {
  ASSERT_OK_AND_ASSIGN(const TextModel model,
                       ParseTextModel("\xef\xbb\xbfnode { name: 'a' op: 'NoOp' }", GraphFormat::kGraphDefText, {}));
  ASSERT_EQ(model.graphs.size(), 1u);
  ASSERT_EQ(model.graphs[0].nodes.size(), 1u);
  EXPECT_EQ(model.graphs[0].nodes[0].column, 1) << "of the text without it";
}

TEST(ParseTextModelTest, ASavedModelHasPlacesForEachGraph) {
  const std::string text =
      "meta_graphs { graph_def { node { name: 'a' } } }\nmeta_graphs {\ngraph_def {\nnode { name: 'b' } } }";
  ASSERT_OK_AND_ASSIGN(const TextModel model, ParseTextModel(text, GraphFormat::kSavedModelText, {}));
  ASSERT_EQ(model.graphs.size(), 2u);
  ASSERT_EQ(model.graphs[1].nodes.size(), 1u);
  EXPECT_EQ(model.graphs[1].nodes[0].line, 4);
}

TEST(ParseTextModelTest, BytesOfTheBinaryFormLeadBackToTheText) {
  const std::string text =
      "node { name: 'a' op: 'NoOp' }\nlibrary {\n  function {\n    signature { name: 'F' }\n    node_def { name: 'b' "
      "}\n"
      "    node_def { name: 'c' }\n    ret { key: 'r' value: 'zz' }\n  }\n}\nversions { producer: 22 }\n";
  ASSERT_OK_AND_ASSIGN(const TextModel model, ParseTextModel(text, GraphFormat::kGraphDefText, {}));
  const std::vector<LineMark> marks = MarkLines(model.binary, model.graphs[0]);
  const auto line_of = [&](absl::string_view bytes) {
    const size_t at = model.binary.find(bytes.data(), 0, bytes.size());
    EXPECT_NE(at, std::string::npos) << bytes;
    int32_t line = -1;
    for (const LineMark& mark : marks) line = mark.byte <= at ? mark.line : line;
    return line;
  };
  EXPECT_EQ(line_of("\x0a\x01"
                    "a"),
            1);
  EXPECT_EQ(line_of("F"), 3) << "the signature belongs to the function";
  EXPECT_EQ(line_of("\x0a\x01"
                    "b"),
            5);
  EXPECT_EQ(line_of("\x0a\x01"
                    "c"),
            6);
  EXPECT_EQ(line_of("zz"), 3) << "what follows the nodes belongs to the function";
  EXPECT_EQ(line_of("\x08\x16"), 0) << "versions have no line of a node";
}

TEST(ParseTextModelTest, ErrorsNameLineAndColumn) {
  const absl::Status status =
      ParseTextModel("node {\n  name: 'a'\n  opp: 'NoOp'\n}", GraphFormat::kGraphDefText, {}).status();
  ASSERT_THAT(status, IsError(ErrorCode::kFileText, "'opp' is not a field of NodeDef"));
  EXPECT_EQ(ErrorInfoOf(status)->line, 3);
  EXPECT_EQ(ErrorInfoOf(status)->column, 3);
  EXPECT_EQ(ErrorInfoOf(status)->suggestion, "did you mean 'op'?");
  EXPECT_TRUE(absl::StrContains(ErrorInfoOf(status)->expected, "one of name, op, input")) << status;
}

// The error of a text, as "line:column text | found | expected | help".
std::string Complaint(absl::string_view text) {
  const absl::Status status = ParseTextModel(text, GraphFormat::kGraphDefText, {}).status();
  EXPECT_THAT(status, IsError(ErrorCode::kFileText));
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return "";
  return absl::StrCat(info->line, ":", info->column, " ", info->text, " | ", info->found, " | ", info->expected, " | ",
                      info->suggestion);
}

TEST(ParseTextModelTest, SyntaxErrorsSayWhatIsAllowedInstead) {
  constexpr absl::string_view kFields = "name, op, input, device, attr";
  EXPECT_EQ(Complaint("node {\n  name: 'a'\n  value { i: 1 }\n}"),
            "3:3 'value' is not a field of NodeDef |  | one of name, op, input, device, attr, experimental_debug_info, "
            "experimental_type | it belongs inside of attr { … }");
  EXPECT_EQ(Complaint("node { name: 'a' } }"),
            "1:20 this brace closes nothing | '}' | the name of a field, or the end of the text | ");
  EXPECT_TRUE(absl::StrContains(Complaint("node { : 'a' }"),
                                "1:8 something else is needed here | ':' | the name of a "
                                "field of NodeDef (name, op, input"))
      << kFields;
  EXPECT_EQ(Complaint("node { name: 'a'\n  attr { key: 'T' "),
            "2:19 the text ends inside of an entry of 'attr', which begins at line 2, column 3 |  | '}' | ");
  EXPECT_EQ(Complaint("node { name: 5 }"),
            "1:14 field 'name' has a value of the wrong kind | '5' | a text in quotes | ");
  EXPECT_EQ(Complaint("node { name 'a' }"), "1:13 something else is needed here | ''a'' | ':' | ");
  EXPECT_EQ(Complaint("node { name: 'a' op: 'NoOp'\n\top: 'X' }"),
            "2:4 field 'op' of NodeDef is given twice |  |  | keep one of them");
  EXPECT_TRUE(absl::StrContains(Complaint("node { attr { key: 'T' value { type: DT_FLOATT } } }"),
                                "'DT_FLOATT' is not a value of field 'type' |  | one of DT_INVALID, DT_FLOAT,"));
  EXPECT_TRUE(
      absl::StrContains(Complaint("node { attr { key: 'T' value { type: DT_FLOATT } } }"), "did you mean 'DT_FLOAT'?"));
  EXPECT_TRUE(absl::StartsWith(Complaint("node { name: 'a\n }"), "1:"));
  EXPECT_TRUE(absl::StrContains(Complaint("node { name: 'a\n }"), "a string has no closing quote on its line"));
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
