#include "graph/load/custom_gradients.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::MessageBytes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// StructuredValues.
MessageBytes None() { return MessageBytes().Sub(1, MessageBytes()); }
MessageBytes Spec() { return MessageBytes().Sub(33, MessageBytes().Bytes(1, "tensor_1")); }
MessageBytes List(const std::vector<MessageBytes>& elements) {
  MessageBytes list;
  for (const MessageBytes& element : elements) list.Sub(1, element);
  return MessageBytes().Sub(51, list);
}

// A graph with a variable, whose library registers "Grad" for "CustomGradient-7"; and object graphs around it.
class CustomGradientsTest : public testing::Test {
 protected:
  CustomGradientsTest() {
    b_.Op("VarHandleOp", "handle", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}, {"shared_name", "v"}});
    const absl::Status added = b_.graph().library().AddGradient(RegisteredGradientKey("CustomGradient-7"), "Grad");
    EXPECT_OK(added);
  }
  // Node 0 is a captured tensor, 1 a variable, 2 a constant, 3 a user's object.
  static MessageBytes Objects(const MessageBytes& function) {
    MessageBytes objects;
    objects.Sub(1, MessageBytes().Sub(12, MessageBytes().Bytes(1, "Exp:0").Bytes(2, "Body")));
    objects.Sub(1, MessageBytes().Sub(7, MessageBytes().Int(1, 1).Bytes(6, "v")));
    objects.Sub(1, MessageBytes().Sub(9, MessageBytes().Bytes(1, "Const")));
    objects.Sub(1, MessageBytes().Sub(4, MessageBytes().Bytes(1, "object")));
    objects.Entry(2, "Other", MessageBytes().Sub(4, List({Spec()})));
    objects.Entry(2, "Grad", function);
    return objects;
  }
  static std::vector<CustomGradient> Find(absl::string_view objects, const Graph& graph) {
    const absl::StatusOr<std::vector<CustomGradient>> found = FindCustomGradients(objects, graph);
    EXPECT_OK(found);
    return found.value_or(std::vector<CustomGradient>());
  }
  std::vector<CustomGradient> Find(const MessageBytes& function) { return Find(Objects(function).str(), b_.graph()); }
  // A SavedModel of several graphs, each with its tag and its objects; binary.
  static std::string SavedModel(const std::vector<std::pair<const char*, MessageBytes>>& graphs) {
    MessageBytes model;
    model.Int(1, 1);
    for (const auto& [tag, objects] : graphs) {
      const MessageBytes gradient = MessageBytes().Bytes(1, "Grad").Bytes(2, "CustomGradient-7");
      MessageBytes meta_graph;
      meta_graph.Sub(1, MessageBytes().Bytes(4, tag));
      meta_graph.Sub(2, MessageBytes().Sub(2, MessageBytes().Sub(3, gradient)));
      model.Sub(2, meta_graph.Sub(7, objects));
    }
    return model.str();
  }
  static std::vector<CustomGradient> FindIn(const std::string& model, const char* tag) {
    LoadOptions options;
    options.tags = {tag};
    const absl::StatusOr<LoadedGraph> loaded = LoadGraphBytes(model, nullptr, "model", options);
    EXPECT_OK(loaded);
    if (!loaded.ok()) return {};
    const absl::StatusOr<std::vector<CustomGradient>> found = FindCustomGradients(*loaded);
    EXPECT_OK(found);
    return found.value_or(std::vector<CustomGradient>());
  }

  GraphBuilder b_{NewOpRegistry()};
};

TEST_F(CustomGradientsTest, ResultsAndCapturesAreThoseOfTheObjectGraph) {
  // Bound inputs as one field, and as one each.
  for (const MessageBytes& bound :
       {MessageBytes().Packed(2, {0, 1, 2}), MessageBytes().Int(2, 0).Int(2, 1).Int(2, 2)}) {
    const auto found = Find(MessageBytes(bound).Sub(4, List({None(), Spec(), None(), Spec()})));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].op_type, "CustomGradient-7");
    EXPECT_EQ(found[0].function, "Grad");
    EXPECT_THAT(found[0].results, ElementsAre(-1, 0, -1, 1));
    ASSERT_EQ(found[0].captures.size(), 3u);
    EXPECT_EQ(found[0].captures[0].function, "Body");
    EXPECT_EQ(found[0].captures[0].tensor, "Exp:0");
    EXPECT_EQ(found[0].captures[1].function, "");
    EXPECT_EQ(found[0].captures[1].tensor, "handle");
    EXPECT_EQ(found[0].captures[2].tensor, "Const");
  }
  const auto alone = Find(MessageBytes().Sub(4, Spec()));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_THAT(alone[0].results, ElementsAre(0));
}

TEST_F(CustomGradientsTest, WhatCannotBeToldIsLeftOut) {
  const MessageBytes result = MessageBytes().Sub(4, List({Spec()}));
  EXPECT_THAT(Find(MessageBytes(result).Int(2, 3)), IsEmpty());   // An object of the user's.
  EXPECT_THAT(Find(MessageBytes(result).Int(2, 99)), IsEmpty());  // None at all.
  EXPECT_THAT(Find(MessageBytes(result).Int(2, -1)), IsEmpty());
  EXPECT_THAT(Find(MessageBytes().Sub(4, List({List({Spec()})}))), IsEmpty());                  // Nested.
  EXPECT_THAT(Find(MessageBytes().Sub(4, MessageBytes().Sub(53, MessageBytes()))), IsEmpty());  // A dictionary.
  EXPECT_THAT(Find(Objects(result).str(), GraphBuilder(NewOpRegistry()).graph()), IsEmpty());
  EXPECT_THAT(Find("", b_.graph()), IsEmpty());
}

// However the bytes are cut, what is found is whole or nothing.
TEST_F(CustomGradientsTest, CutBytes) {
  const std::string whole = Objects(MessageBytes().Int(2, 0).Sub(4, List({None(), Spec()}))).str();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Find(absl::string_view(whole).substr(0, size), b_.graph()), IsEmpty()) << size;
  }
}

TEST_F(CustomGradientsTest, ThoseOfTheGraphThatWasChosen) {
  const std::string model = SavedModel({{"serve", Objects(MessageBytes().Sub(4, List({None(), Spec()})))},
                                        {"train", Objects(MessageBytes().Sub(4, List({Spec()})))}});
  const auto serve = FindIn(model, "serve"), train = FindIn(model, "train");
  ASSERT_EQ(serve.size(), 1u);
  EXPECT_THAT(serve[0].results, ElementsAre(-1, 0));
  ASSERT_EQ(train.size(), 1u);
  EXPECT_THAT(train[0].results, ElementsAre(0));
}

TEST_F(CustomGradientsTest, ThoseOfATextToo) {
  const std::string text = R"(saved_model_schema_version: 1
    meta_graphs {
      meta_info_def { tags: "serve" }
      graph_def { library { registered_gradients { gradient_func: "Grad" registered_op_type: "CustomGradient-7" } } }
      object_graph_def {
        nodes { captured_tensor { name: "Exp:0" concrete_function: "Body" } }
        concrete_functions {
          key: "Grad"
          value { bound_inputs: 0 output_signature { tuple_value { values { none_value {} }
                                                                   values { tensor_spec_value { name: "d" } } } } }
        }
      }
    })";
  const auto found = FindIn(text, "serve");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].results, ElementsAre(-1, 0));
  ASSERT_EQ(found[0].captures.size(), 1u);
  EXPECT_EQ(found[0].captures[0].tensor, "Exp:0");
}

// Each function stands once in a file; the result for many registrations of a library is as long.
TEST_F(CustomGradientsTest, ManyAreFoundInTimeThatGrowsAsTheirNumber) {
  MessageBytes objects = Objects(MessageBytes().Sub(4, List({Spec()})));
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) {
    const std::string name = absl::StrCat("Grad", i);
    ASSERT_OK(b_.graph().library().AddGradient(RegisteredGradientKey(absl::StrCat("Type-", i)), name));
    objects.Entry(2, name, MessageBytes().Int(2, 1).Sub(4, List({Spec()})));
  }
  const std::string bytes = objects.str();
  StopPoll stop(absl::Now() + absl::Seconds(30), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto found, FindCustomGradients(bytes, b_.graph(), &stop));
  EXPECT_EQ(found.size(), size_t{kMany} + 1);
  StopPoll late(absl::Now() - absl::Seconds(1), nullptr);
  EXPECT_THAT(FindCustomGradients(bytes, b_.graph(), &late), IsError(ErrorCode::kDeadline));
}

TEST_F(CustomGradientsTest, OneLargeFunctionForManyTypesIsRefused) {
  MessageBytes large = MessageBytes().Sub(4, List({Spec()}));
  for (int i = 0; i < 2'000; ++i) large.Int(2, 0);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_OK(b_.graph().library().AddGradient(RegisteredGradientKey(absl::StrCat("Type-", i)), "Grad"));
  }
  EXPECT_THAT(FindCustomGradients(Objects(large).str(), b_.graph()), IsError(ErrorCode::kLimitNodes, "captured"));
}

}  // namespace
}  // namespace sluice
