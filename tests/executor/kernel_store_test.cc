#include "executor/kernel_store.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class NoKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext&) const override { return absl::OkStatus(); }
};

class KernelStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Kernel> Find(absl::string_view node, std::string properties) {
    absl::StatusOr<std::shared_ptr<const Kernel>> found =
        store_.FindOrMake(node, std::move(properties), [this] { return Make(); });
    EXPECT_OK(found);
    return found.ok() ? *std::move(found) : nullptr;
  }
  std::shared_ptr<const Kernel> FindConstant(absl::string_view bytes) {
    absl::StatusOr<std::shared_ptr<const Kernel>> found = store_.FindOrMakeConstant(bytes, [this] { return Make(); });
    EXPECT_OK(found);
    return found.ok() ? *std::move(found) : nullptr;
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Make() {
    ++num_made_;
    return std::make_shared<const NoKernel>();
  }

  KernelStore store_;
  int num_made_ = 0;
};

TEST_F(KernelStoreTest, ANodeHasOneKernelUntilItChanges) {
  const auto first = Find("a", "Print x");
  EXPECT_EQ(Find("a", "Print x"), first);
  EXPECT_NE(Find("b", "Print x"), first);
  EXPECT_EQ(num_made_, 2);
  const auto changed = Find("a", "Print y");
  EXPECT_NE(changed, first);
  EXPECT_EQ(Find("a", "Print y"), changed);
  EXPECT_NE(Find("a", "Print x"), first) << "the old one has lost its place";
  EXPECT_EQ(store_.num_kernels(), 2u);
}

TEST_F(KernelStoreTest, AFactoryThatFailsLeavesNothing) {
  const auto failed = store_.FindOrMake(
      "a", "x", []() -> absl::StatusOr<std::shared_ptr<const Kernel>> { return absl::InternalError("no luck"); });
  EXPECT_THAT(failed.status(), StatusIs(absl::StatusCode::kInternal, "no luck"));
  EXPECT_EQ(store_.num_kernels(), 0u);
  EXPECT_NE(Find("a", "x"), nullptr);
}

TEST_F(KernelStoreTest, AKernelMadeMeanwhileWins) {
  std::shared_ptr<const Kernel> inner;
  const auto outer = store_.FindOrMake("a", "x", [&] {
    inner = Find("a", "x");  // As another thread would.
    return Make();
  });
  ASSERT_OK(outer);
  EXPECT_EQ(*outer, inner);
  EXPECT_EQ(num_made_, 2);
}

TEST_F(KernelStoreTest, ClearForgetsAndHoldersKeep) {
  const auto first = Find("a", "x");
  store_.Clear();
  EXPECT_EQ(store_.num_kernels(), 0u);
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_NE(Find("a", "x"), first);
}

TEST_F(KernelStoreTest, AConstantIsKeptAsLongAsSomebodyHasIt) {
  const std::string bytes(1000, 'x'), others(1000, 'x');
  auto first = FindConstant(bytes);
  EXPECT_EQ(FindConstant(bytes), first);
  EXPECT_NE(FindConstant(others), first) << "equal bytes elsewhere are not compared";
  EXPECT_NE(FindConstant(absl::string_view(bytes).substr(0, 999)), first);
  EXPECT_EQ(num_made_, 3);
  EXPECT_EQ(store_.num_constants(), 1u);
  first = nullptr;
  EXPECT_EQ(store_.num_constants(), 0u);
  EXPECT_NE(FindConstant(bytes), nullptr);
  EXPECT_EQ(num_made_, 4);
}

TEST_F(KernelStoreTest, PlacesOfConstantsThatAreGoneAreGivenUp) {
  const std::string bytes(10'000, 'x');
  std::vector<std::shared_ptr<const Kernel>> held;
  for (size_t i = 0; i < 1000; ++i) {
    const auto constant = FindConstant(absl::string_view(bytes).substr(i));
    if (i % 100 == 0) held.push_back(constant);
  }
  EXPECT_EQ(store_.num_constants(), held.size());
  EXPECT_LE(store_.num_places(), 64u);
}

}  // namespace
}  // namespace sluice
