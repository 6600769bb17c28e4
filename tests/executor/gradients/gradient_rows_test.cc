// Every op with a kernel has a row.

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "graph/gradients/gradient_table.h"
#include "graph/gradients/rules/families.h"
#include "graph/ir/op_class.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"

namespace sluice {
namespace {

TEST(GradientRowsTest, NoOpStandsInTwoFamilies) {
  std::set<std::string> seen;
  for (const absl::Span<const GradientRow> family : GradientFamilies()) {
    for (const GradientRow& row : family) {
      EXPECT_TRUE(seen.emplace(row.op).second) << row.op;
      EXPECT_EQ(row.kind, GradientRow::Kind::kFunction) << row.op;
      EXPECT_NE(row.function, nullptr) << row.op;
    }
  }
  EXPECT_GT(seen.size(), 350u);
}

TEST(GradientRowsTest, EveryRowIsOfAnOpThatExists) {
  const std::shared_ptr<const OpRegistry> ops = NewOpRegistry();
  for (const absl::Span<const GradientRow> family : GradientFamilies()) {
    for (const GradientRow& row : family) EXPECT_NE(ops->Find(row.op), nullptr) << row.op;
  }
}

TEST(GradientRowsTest, TraitsNameTheOpsWithAFunction) {
  std::set<std::string> with_function, named;
  for (const absl::Span<const GradientRow> family : GradientFamilies()) {
    for (const GradientRow& row : family) with_function.emplace(row.op);
  }
  BuiltinOps().ForEachName([&named](absl::string_view op) {
    if (BuiltinOps().Find(op)->traits.gradient == OpTraits::Gradient::kFunction) named.emplace(op);
  });
  std::vector<std::string> differ;
  std::set_symmetric_difference(named.begin(), named.end(), with_function.begin(), with_function.end(),
                                std::back_inserter(differ));
  EXPECT_THAT(differ, testing::IsEmpty());
}

TEST(GradientRowsTest, EveryOpWithAKernelHasARow) {
  KernelRegistry registry;
  RegisterAllKernels(registry);
  std::set<std::string> missing;
  for (const absl::Span<const KernelRow> table : registry.Tables()) {
    for (const KernelRow& row : table) {
      // Ops of our own that no model has.
      if (absl::StartsWith(row.op(), "_")) continue;
      if (FindGradientRow(row.op()) == nullptr) missing.emplace(row.op());
    }
  }
  EXPECT_THAT(missing, testing::IsEmpty());
}

}  // namespace
}  // namespace sluice
