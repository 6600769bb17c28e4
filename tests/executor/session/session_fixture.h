#ifndef SLUICE_TESTS_EXECUTOR_SESSION_SESSION_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_SESSION_SESSION_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/memory/cpu_allocator.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// A graph under construction, and the session made of it, whose memory is counted.
class SessionFixture : public ::testing::Test {
 protected:
  SessionFixture() : b_(NewOpRegistry()) {}

  static Tensor Int(int32_t value) { return Tensor::Scalar(value); }

  // y = x + 1, z = y * y.
  void AddSimpleGraph() {
    const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Scalar());
    const Output y = b_.Op("AddV2", "y", {x, b_.Const("one", Int(1))});
    b_.Op("Mul", "z", {y, y});
  }
  // Counts for ever, or so.
  void AddEndlessLoop() {
    const Output enter = b_.Op("Enter", "enter", {b_.Const("zero", Int(0))}, {{"frame_name", "f"}});
    const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
    const Output limit =
        b_.Op("Enter", "limit", {b_.Const("many", Int(2'000'000'000))}, {{"frame_name", "f"}, {"is_constant", true}});
    const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, limit})});
    const Output ports = b_.Op("Switch", "switch", {merge, condition});
    const Output one = b_.Const("step", Int(1));
    b_.AddControl(one, b_.Op("Identity", "pivot", {GraphBuilder::Nth(ports, 1)}));
    const Output next = b_.Op("AddV2", "plus", {GraphBuilder::Nth(ports, 1), one});
    b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {next}));
    b_.Op("Exit", "endless", {ports});
  }
  // A counter that each run of "count" raises by one; "start" sets it to zero.
  void AddCounter() {
    const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
    b_.Op("Assign", "start", {v, b_.Const("v0", Int(0))});
    b_.Op("AssignAdd", "count", {v, b_.Const("v1", Int(1))});
  }

  // The graph so far, as a new session or as the next version of the session's.
  void Open(SessionOptions options = {}) {
    if (options.num_threads == 0) options.num_threads = 2;
    if (options.allocator == nullptr) options.allocator = &allocator_;
    absl::StatusOr<std::unique_ptr<Session>> made = Session::Create(options, b_.graph());
    ASSERT_OK(b_.status());
    ASSERT_OK(made);
    session_ = *std::move(made);
  }

  absl::StatusOr<Tensor> Fetch(const std::string& name, const NamedTensors& feeds = {}, CallOptions options = {}) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session_->Run(feeds, {name}, {}, options));
    return std::move(values[0]);
  }
  void ExpectFetch(const std::string& name, int32_t expected, const NamedTensors& feeds = {}) {
    ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch(name, feeds));
    EXPECT_EQ(*value.AsScalar<int32_t>(), expected) << name;
  }

  // Whatever happened: with the session all tensors of its steps and variables go.
  void TearDown() override {
    session_.reset();
    EXPECT_EQ(allocator_.live_bytes(), 0);
  }

  TrackingAllocator allocator_{CpuAllocator()};
  GraphBuilder b_;
  std::unique_ptr<Session> session_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_SESSION_SESSION_FIXTURE_H_
