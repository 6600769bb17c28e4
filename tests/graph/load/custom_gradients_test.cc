#include "graph/load/custom_gradients.h"

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
  static std::string SavedModel(const MessageBytes& function) {
    MessageBytes objects;
    objects.Sub(1, MessageBytes().Sub(12, MessageBytes().Bytes(1, "Exp:0").Bytes(2, "Body")));
    objects.Sub(1, MessageBytes().Sub(7, MessageBytes().Int(1, 1).Bytes(6, "v")));
    objects.Sub(1, MessageBytes().Sub(9, MessageBytes().Bytes(1, "Const")));
    objects.Sub(1, MessageBytes().Sub(4, MessageBytes().Bytes(1, "object")));
    objects.Entry(2, "Other", MessageBytes().Sub(4, List({Spec()})));
    objects.Entry(2, "Grad", function);
    return MessageBytes().Int(1, 1).Sub(2, MessageBytes().Sub(7, objects)).str();
  }
  std::vector<CustomGradient> Find(const MessageBytes& function) {
    return FindCustomGradients(SavedModel(function), b_.graph());
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
  EXPECT_THAT(FindCustomGradients(SavedModel(result), GraphBuilder(NewOpRegistry()).graph()), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto of_nothing, ReadCustomGradients("no/such/folder", b_.graph()));
  EXPECT_THAT(of_nothing, IsEmpty());
}

// However a file is cut, what is found is whole or nothing.
TEST_F(CustomGradientsTest, CutFiles) {
  const std::string whole = SavedModel(MessageBytes().Int(2, 0).Sub(4, List({None(), Spec()})));
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto found = FindCustomGradients(absl::string_view(whole).substr(0, size), b_.graph());
    EXPECT_THAT(found, IsEmpty()) << size;
  }
}

}  // namespace
}  // namespace sluice
