#include "kernels/step/step_container.h"

#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/value/counted.h"
#include "graph/value/resource_handle.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class Flag final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Flag";

  explicit Flag(bool* is_gone) : Resource(kTypeName), is_gone_(is_gone) {}
  ~Flag() override { *is_gone_ = true; }

 private:
  bool* const is_gone_;
};

TEST(StepContainerTest, WhatIsInItEndsWithTheStep) {
  bool is_gone = false;
  {
    StepContainer step(StepId(7));
    EXPECT_EQ(step.name(), "__per_step_7");
    ASSERT_OK(step.resources().Create(step.name(), "flag", MakeCounted<Flag>(&is_gone)));
    EXPECT_OK(step.resources().Lookup<Flag>(step.name(), "flag"));
    EXPECT_FALSE(is_gone);
  }
  EXPECT_TRUE(is_gone);
}

TEST(StepContainerTest, AllThreadsAreGivenTheSameResources) {
  for (int round = 0; round < 50; ++round) {
    StepContainer step(StepId(1));
    std::vector<ResourceManager*> given(4);
    std::vector<std::thread> threads;
    for (ResourceManager*& mine : given) threads.emplace_back([&] { mine = &step.resources(); });
    for (std::thread& thread : threads) thread.join();
    for (const ResourceManager* const mine : given) EXPECT_EQ(mine, &step.resources());
  }
}

}  // namespace
}  // namespace sluice
