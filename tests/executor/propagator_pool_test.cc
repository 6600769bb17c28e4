#include "executor/dataflow/propagator_pool.h"

#include <memory>
#include <utility>
#include <vector>

#include "executor/serial/serial_run.h"
#include "executor/threads/kept_pool.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A propagator that says how much memory it keeps.
struct FakePropagator {
  FakePropagator(const GraphView&, FrameIdHash) {}
  size_t kept_bytes() const { return bytes; }
  size_t bytes = 0;
};

class PropagatorPoolTest : public ::testing::Test {
 protected:
  using Pool = PropagatorPool<FakePropagator>;

  PropagatorPoolTest() {
    GraphBuilder b(NewOpRegistry());
    b.Op("NoOp", "n");
    graph_ = std::make_unique<Graph>(*b.Build());
    const ControlFlowInfo frames = *BuildControlFlowInfo(*graph_, LoadLimits());
    const std::vector<NodeFacts> facts(static_cast<size_t>(graph_->id_limit()));
    view_ = std::make_unique<GraphView>(*GraphView::Create(*graph_, frames, facts));
    pool_ = std::make_unique<Pool>(*view_, nullptr);
  }

  // Puts back `count` that were taken at once, of so many bytes each.
  void UseAtOnce(int count, size_t bytes) {
    std::vector<Pool::Kept> taken;
    for (int i = 0; i < count; ++i) taken.push_back(pool_->Take());
    for (Pool::Kept& kept : taken) {
      kept.propagator->bytes = bytes;
      pool_->Put(std::move(kept));
    }
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<GraphView> view_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PropagatorPoolTest, WhatIsPutBackIsTakenAgain) {
  Pool::Kept first = pool_->Take();
  const FakePropagator* const made = first.propagator.get();
  pool_->Put(std::move(first));
  EXPECT_EQ(pool_->Take().propagator.get(), made);
  EXPECT_NE(pool_->Take().propagator, nullptr);
}

TEST_F(PropagatorPoolTest, KeepsAFewHoweverManyRunAtOnce) {
  UseAtOnce(100, 1000);
  EXPECT_EQ(pool_->num_kept(), 16u);
}

TEST_F(PropagatorPoolTest, KeepsNoMoreMemoryThanItMay) {
  UseAtOnce(10, size_t{100} << 20);
  EXPECT_EQ(pool_->num_kept(), 2u);
}

// The same rule for all that is kept between runs.
TEST(KeptPoolTest, CountsWhatItKeeps) {
  constexpr size_t kMax = KeptBytes::kMax;
  KeptPool<int> pool(3);
  EXPECT_FALSE(pool.Take().has_value());
  pool.Put(1, kMax / 2);
  pool.Put(2, kMax / 2);
  EXPECT_EQ(pool.kept_bytes(), kMax);
  pool.Put(3, 1);
  EXPECT_EQ(pool.num_kept(), 2u) << "one byte too much";
  EXPECT_EQ(pool.Take(), 2);
  EXPECT_EQ(pool.kept_bytes(), kMax / 2);
  for (const int i : {4, 5, 6}) pool.Put(i, 1);
  EXPECT_EQ(pool.num_kept(), 3u);
  EXPECT_EQ(pool.kept_bytes(), kMax / 2 + 2);
  pool.Put(7, ~size_t{0});
  EXPECT_EQ(pool.Take(), 5);
}

TEST(KeptPoolTest, RegistersOfManyRunsAtOnceAreBounded) {
  constexpr int32_t kRegisters = 400'000;  // 25 MB.
  RegisterPool pool(kRegisters);
  std::vector<std::unique_ptr<Entry[]>> taken;
  for (int i = 0; i < 14; ++i) taken.push_back(pool.Take());
  for (std::unique_ptr<Entry[]>& registers : taken) pool.Put(std::move(registers));
  EXPECT_GT(pool.kept_bytes(), KeptBytes::kMax / 2);
  EXPECT_LE(pool.kept_bytes(), KeptBytes::kMax);
  pool.FreeKept();
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

// The run may have succeeded.
TEST(KeptPoolTest, RegistersThatThereIsNoMemoryToKeepAreFreed) {
#ifdef SLUICE_COUNTS_NEW
  RegisterPool pool(4);
  std::unique_ptr<Entry[]> registers = pool.Take();
  FailNewCall(1);
  EXPECT_NO_THROW(pool.Put(std::move(registers)));
  EXPECT_TRUE(HasFailedNewCall());
  FailNewCall(0);
  EXPECT_EQ(pool.kept_bytes(), 0u);
#endif
}

TEST(KeptPoolTest, PoolsThatCountTogetherKeepNoMoreThanOne) {
  const auto bytes = std::make_shared<KeptBytes>();
  {
    KeptPool<int> a(10, bytes), b(10, bytes);
    a.Put(1, KeptBytes::kMax / 2);
    b.Put(2, KeptBytes::kMax / 2);
    b.Put(3, 1);
    EXPECT_EQ(b.num_kept(), 1u);
    EXPECT_EQ(bytes->kept(), KeptBytes::kMax);
    a.Clear();
    b.Put(3, 1);
    EXPECT_EQ(b.num_kept(), 2u);
    EXPECT_EQ(b.kept_bytes(), KeptBytes::kMax / 2 + 1);
    EXPECT_EQ(bytes->kept(), b.kept_bytes());
  }
  EXPECT_EQ(bytes->kept(), 0u);
}

TEST_F(PropagatorPoolTest, KeepsOneOfAnySize) {
  UseAtOnce(3, size_t{1} << 34);
  EXPECT_EQ(pool_->num_kept(), 1u);
}

}  // namespace
}  // namespace sluice
