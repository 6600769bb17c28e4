#include "tests/fuzz/determined_values.h"

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(DeterminedValuesTest, WhatHangsOnAStatefulOpOrAMergeIsNot) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output sum = b.Op("AddV2", "sum", {x, x});
  const Output random = b.Op("RandomUniform", "random", {b.Const("shape", Tensor::Of<int32_t>(Shape::Of({1}), {2}))},
                             {{"dtype", DType::kFloat}});
  b.Op("AddV2", "noise", {sum, random});
  const Output waits = b.Op("Neg", "waits", {sum});
  b.AddControl(waits, random);
  const Output merge = b.Op("Merge", "merge", {x, sum});
  b.Op("Neg", "merged", {merge});
  ASSERT_OK(b.status());

  FeedFetchSpec spec;
  spec.feeds = {"x:0"};
  spec.fetches = {"sum:0"};
  const DeterminedValues values(b.graph(), spec);
  EXPECT_TRUE(values.IsDetermined("sum:0"));
  EXPECT_TRUE(values.IsDetermined("x"));
  for (const char* const name : {"random:0", "noise:0", "waits:0", "merge:1", "merged"}) {
    EXPECT_FALSE(values.IsDetermined(name)) << name;
  }
  EXPECT_TRUE(values.AreAllDetermined());

  spec.targets = {"waits"};
  EXPECT_FALSE(DeterminedValues(b.graph(), spec).AreAllDetermined());
  spec.feeds = {"x:0", "random:0"};
  const DeterminedValues fed(b.graph(), spec);
  EXPECT_TRUE(fed.AreAllDetermined());
  EXPECT_TRUE(fed.IsDetermined("noise:0"));
}

}  // namespace
}  // namespace sluice
