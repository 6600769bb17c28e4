// Faults of graphs that TensorFlow imports all the same: Note [What TensorFlow imports].

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/load/load_graph.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

absl::StatusOr<LoadedGraph> LoadText(const std::string& text, bool refuse_deferred = false) {
  LoadOptions options;
  options.refuse_deferred = refuse_deferred;
  options.format = GraphFormat::kGraphDefText;
  return LoadGraphBytes(text, nullptr, "model", options);
}

TEST(FindingsTest, WhatTensorFlowImportsIsLoadedAndTold) {
  const struct {
    const char* what;
    const char* text;
    ErrorCode code;
  } rows[] = {
      {"a tensor of another type",
       "node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
       "{ dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }",
       ErrorCode::kTensorDType},
      {"a tensor that is too short",
       "node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
       "{ dtype: DT_FLOAT tensor_shape { } tensor_content: 'a' } } } }",
       ErrorCode::kTensorContent},
      {"an argument of a function",
       "node { name: 'k' op: '_Arg' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'index' value { i: 0 } } }",
       ErrorCode::kOpInternal},
      {"an Exit without a loop",
       "node { name: 'c' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
       "node { name: 'k' op: 'Exit' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }",
       ErrorCode::kFrame},
      {"a function that calls itself",
       "library { function { signature { name: 'F' } node_def { name: 'k' op: 'F' } } }",
       ErrorCode::kFunctionRecursion},
      {"a gradient of no function", "library { gradient { function_name: 'F' gradient_func: 'G' } }",
       ErrorCode::kFunctionGradient},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    ASSERT_OK_AND_ASSIGN(const LoadedGraph model, LoadText(row.text));
    EXPECT_THAT(model.deferred, IsError(row.code));
    EXPECT_THAT(model.unsound, IsOk());
    EXPECT_THAT(LoadText(row.text, /*refuse_deferred=*/true), IsError(row.code));
  }
}

TEST(FindingsTest, WhatTensorFlowRefusesIsRefused) {
  const std::string call = "node { name: 'call' op: 'F' }";
  const std::string itself = "library { function { signature { name: 'F' } node_def { name: 'k' op: 'F' } } }";
  EXPECT_THAT(LoadText(absl::StrCat(call, itself)), IsError(ErrorCode::kFunctionRecursion)) << "it is called";
  EXPECT_THAT(LoadText("library { function { signature { name: 'NoOp' } } }"), IsError(ErrorCode::kFunctionDuplicate));
  EXPECT_THAT(LoadText("node { name: 'c' op: 'PartitionedCall' attr { key: 'Tin' value { list { } } } attr { key: "
                       "'Tout' value { list { } } } attr { key: 'f' value { func { name: 'G' } } } }"),
              IsError(ErrorCode::kFunctionUnknown));
  EXPECT_THAT(LoadText("node { name: 'c' op: 'NoSuchOp' }"), IsError(ErrorCode::kOpUnknown));
}

}  // namespace
}  // namespace sluice
