#include "executor/plan/kernel_store.h"

#include <memory>
#include <string>
#include <vector>

#include "graph/base/as_status.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class NoKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext&) const override { return absl::OkStatus(); }
};

class KernelStoreTest : public ::testing::Test {
 protected:
  using Form = KernelStore::ConstantForm;

  std::shared_ptr<const Kernel> Find(absl::string_view node, std::string properties) {
    absl::StatusOr<std::shared_ptr<const Kernel>> found =
        store_.FindOrMake(node, std::move(properties), [this] { return Make(); });
    EXPECT_OK(found);
    return found.ok() ? *std::move(found) : nullptr;
  }
  std::shared_ptr<const Kernel> FindConstant(absl::string_view bytes, Form form = Form::kInMemory) {
    absl::StatusOr<std::shared_ptr<const Kernel>> found =
        store_.FindOrMakeConstant(bytes, form, [this] { return Make(); });
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

TEST_F(KernelStoreTest, ForgetsWhatIsNotToBeKept) {
  const auto a = Find("a", "x"), b = Find("b", "x");
  const KernelStore::ByNode ended = store_.Forget([](absl::string_view node) { return node == "b"; });
  EXPECT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended.at("a").kernel, a);
  EXPECT_EQ(store_.num_kernels(), 1u);
  EXPECT_EQ(Find("b", "x"), b);
  EXPECT_NE(Find("a", "x"), a);
}

// What was begun before Forget or Clear takes what is there, and leaves nothing.
TEST_F(KernelStoreTest, AnOldPlanLeavesNothing) {
  const auto find_old = [this](int64_t generation, absl::string_view node, const std::string& properties) {
    absl::StatusOr<std::shared_ptr<const Kernel>> found = store_.FindOrMake(
        node, properties, [this] { return Make(); }, generation);
    EXPECT_OK(found);
    return found.ok() ? *std::move(found) : nullptr;
  };
  const int64_t first = store_.generation();
  const auto a = find_old(first, "a", "x");
  EXPECT_EQ(find_old(first, "a", "x"), a);
  EXPECT_TRUE(store_.Forget([](absl::string_view) { return true; }).empty());
  EXPECT_NE(store_.generation(), first);
  EXPECT_EQ(find_old(first, "a", "x"), a);
  EXPECT_NE(find_old(first, "a", "y"), nullptr);
  EXPECT_NE(find_old(first, "b", "x"), nullptr);
  EXPECT_EQ(Find("a", "x"), a) << "it has kept its place";
  EXPECT_EQ(store_.num_kernels(), 1u);
  const int64_t second = store_.generation();
  store_.Clear();
  EXPECT_NE(find_old(second, "a", "x"), a);
  EXPECT_EQ(store_.num_kernels(), 0u);
  EXPECT_EQ(find_old(store_.generation(), "a", "x"), Find("a", "x"));
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

TEST_F(KernelStoreTest, APlanDropsItsScopeWhenItGoes) {
  const auto of_session = Find("a", "x");
  auto plan = std::make_unique<const PlanScope>(&store_);
  const PlanScope other(&store_);
  const auto find_in = [this](const PlanScope& scope) {
    return *scope.FindOrMake("a", "x", [this] { return Make(); });
  };
  const auto kernel = find_in(*plan);
  EXPECT_EQ(find_in(*plan), kernel);
  EXPECT_NE(find_in(other), kernel);
  EXPECT_NE(of_session, kernel);
  EXPECT_EQ(store_.Kernels().size(), 1u) << "plans without a name";
  plan->SetName("p");
  ASSERT_EQ(store_.Kernels().size(), 2u);
  EXPECT_EQ(store_.Kernels()[1].plan, "p");
  EXPECT_EQ(store_.Kernels()[1].kernel, kernel);
  store_.Clear();
  EXPECT_EQ(find_in(*plan), kernel) << "the session forgets what is its own";
  plan.reset();
  EXPECT_TRUE(store_.Kernels().empty());
  EXPECT_EQ(kernel.use_count(), 1);
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

TEST_F(KernelStoreTest, EachFormOfAConstantIsKeptByItself) {
  const std::string bytes(1000, 'x');
  const auto in_memory = FindConstant(bytes), in_file = FindConstant(bytes, Form::kInFile);
  EXPECT_NE(in_memory, in_file);
  EXPECT_EQ(FindConstant(bytes), in_memory);
  EXPECT_EQ(FindConstant(bytes, Form::kInFile), in_file);
  EXPECT_EQ(store_.num_constants(), 2u);
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

// The store outlives the call that has no memory: it keeps what it had, and later calls find and add as ever.
TEST_F(KernelStoreTest, AnAllocationThatFailsLeavesItAsItWas) {
#ifdef SLUICE_COUNTS_NEW
  const std::vector<std::string> places(40, "constant");  // Each has an address of its own.
  std::vector<std::shared_ptr<const Kernel>> kept;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string node = "a node with a name that takes memory of its own " + std::to_string(i);
    for (int64_t n = 1, has_failed = 1; has_failed != 0; ++n) {
      FailNewCall(n);
      const absl::Status status = AsStatus([&]() -> absl::Status {
        const auto make = [this] { return Make(); };
        const absl::Status stateful = store_.FindOrMake(node, "properties", make).status();
        return stateful.ok() ? store_.FindOrMakeConstant(places[i], Form::kInMemory, make).status() : stateful;
      });
      has_failed = HasFailedNewCall() ? 1 : 0;
      FailNewCall(0);
      ASSERT_EQ(status.ok(), has_failed == 0) << status;
    }
    kept.push_back(Find(node, "properties"));
    kept.push_back(FindConstant(places[i]));
    ASSERT_EQ(store_.num_kernels(), i + 1);
  }
  const int num_made = num_made_;
  EXPECT_EQ(FindConstant(places[0]), kept[1]);
  EXPECT_EQ(num_made_, num_made);
#endif
}

}  // namespace
}  // namespace sluice
