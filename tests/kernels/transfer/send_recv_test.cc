#include <cstdint>

#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/step_runner.h"

namespace sluice {
namespace {

constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";

class SendRecvTest : public ::testing::Test {
 protected:
  SendRecvTest() { steps_.run().rendezvous = rendezvous_.get(); }
  static GraphBuilder::Attrs Edge(absl::string_view name) {
    return {{"tensor_name", AttrValue(name)},
            {"send_device", kCpu},
            {"recv_device", kCpu},
            {"send_device_incarnation", int64_t{1}}};
  }
  Output Send(absl::string_view edge, Output value) {
    return GraphBuilder::Control(b().Op("_Send", "", {value}, Edge(edge)));
  }
  Output Recv(absl::string_view edge, DType dtype) {
    GraphBuilder::Attrs attrs = Edge(edge);
    attrs.emplace_back("tensor_type", dtype);
    return b().Op("_Recv", "", {}, attrs);
  }
  RendezvousKey Key(absl::string_view edge) { return {edges_.Number(EdgeText(kCpu, 1, kCpu, edge)), 0, 0}; }
  GraphBuilder& b() { return steps_.graph(); }

  EdgeTable edges_;
  CountedPtr<LocalRendezvous> rendezvous_ = MakeCounted<LocalRendezvous>(edges_);
  StepRunner steps_;
};

TEST_F(SendRecvTest, AValueCrosses) {
  const Output send = Send("x", b().Const("c", Tensor::Scalar(2.5f)));
  const Output recv = Recv("x", DType::kFloat);
  ASSERT_OK_AND_ASSIGN(const auto values, steps_.Run({send, recv}));
  EXPECT_EQ(*values[0].AsScalar<float>(), 2.5f);
  EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
}

// Its number 0 is another edge than the kernel's.
TEST_F(SendRecvTest, ARendezvousOverAnotherTableIsAskedForTheEdge) {
  const Output recv = Recv("x", DType::kFloat);
  ASSERT_OK(rendezvous_->Send(Key("x"), {}, {Tensor::Scalar(1.0f), false}));
  ASSERT_OK_AND_ASSIGN(const auto first, steps_.Run({recv}));
  EXPECT_EQ(*first[0].AsScalar<float>(), 1.0f);
  const CountedPtr<LocalRendezvous> other = MakeCounted<LocalRendezvous>();
  const EdgeNumber wrong = other->edges()->Number("another edge");
  const EdgeNumber right = other->edges()->Number(EdgeText(kCpu, 1, kCpu, "x"));
  ASSERT_OK(other->Send({wrong, 0, 0}, {}, {Tensor::Scalar(-1.0f), false}));
  ASSERT_OK(other->Send({right, 0, 0}, {}, {Tensor::Scalar(2.0f), false}));
  steps_.run().rendezvous = other.get();
  ASSERT_OK_AND_ASSIGN(const auto second, steps_.Run({recv}));
  EXPECT_EQ(*second[0].AsScalar<float>(), 2.0f);
}

TEST_F(SendRecvTest, ADeadValueLeavesTheOutputDead) {
  ASSERT_OK(rendezvous_->Send(Key("x"), {}, {Tensor(), /*is_dead=*/true}));
  const Output recv = Recv("x", DType::kFloat);
  EXPECT_THAT(steps_.Run({recv}), IsError(ErrorCode::kOutputMissing));
  EXPECT_TRUE(steps_.WasDead(recv));
}

TEST_F(SendRecvTest, DeadnessIsSent) {
  ASSERT_OK(rendezvous_->Send(Key("x"), {}, {Tensor(), /*is_dead=*/true}));
  const Output send = Send("y", Recv("x", DType::kFloat));
  ASSERT_OK(steps_.Run({send}));
  bool is_dead = false;
  rendezvous_->RecvAsync(
      Key("y"), {}, nullptr,
      [&](absl::Status, RendezvousValue value, const TransferArgs&, const TransferArgs&) { is_dead = value.is_dead; });
  EXPECT_TRUE(is_dead);
}

TEST_F(SendRecvTest, AnotherDtypeIsInternal) {
  ASSERT_OK(rendezvous_->Send(Key("x"), {}, {Tensor::Scalar(1.0), false}));
  EXPECT_THAT(steps_.Run({Recv("x", DType::kFloat)}), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(SendRecvTest, AnAbortReachesBothSides) {
  rendezvous_->StartAbort(absl::AbortedError("gone"));
  EXPECT_THAT(steps_.Run({Recv("x", DType::kFloat)}), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(steps_.Run({Send("x", b().Const("c", Tensor::Scalar(1)))}), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(SendRecvTest, WithoutARendezvousBothSidesSaySo) {
  steps_.run().rendezvous = nullptr;
  EXPECT_THAT(steps_.Run({Recv("x", DType::kFloat)}), IsError(ErrorCode::kFacilityMissing));
  EXPECT_THAT(steps_.Run({Send("x", b().Const("c", Tensor::Scalar(1)))}), IsError(ErrorCode::kFacilityMissing));
}

}  // namespace
}  // namespace sluice
