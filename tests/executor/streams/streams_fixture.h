#ifndef SLUICE_TESTS_EXECUTOR_STREAMS_STREAMS_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_STREAMS_STREAMS_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/memory/cpu_allocator.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/fake_device.h"
#include "tests/testing/fake_kernels.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// The devices of a session: a CPU and some that play a GPU.
struct FakeDevices {
  explicit FakeDevices(int count, FakeDevice::Options options = {}, Allocator* allocator = nullptr)
      : all(std::make_shared<std::vector<std::unique_ptr<Device>>>()) {
    *all = MakeCpuDevices(1, kLocalTask, allocator);
    for (int i = 0; i < count; ++i) {
      options.name = absl::StrCat(kLocalTask, "/device:GPU:", i);
      options.seed += 1;
      auto made = std::make_unique<FakeDevice>(options);
      fakes.push_back(made.get());
      all->push_back(std::move(made));
    }
  }
  // Waits until no work is left on them.
  void Settle() {
    for (FakeDevice* const fake : fakes) {
      fake->events().Drain();
      for (const StreamDevice::Use use : StreamDevice::kUses) fake->stream(use).AwaitIdle();
      fake->events().Drain();
    }
  }

  std::shared_ptr<std::vector<std::unique_ptr<Device>>> all;
  std::vector<FakeDevice*> fakes;  // Of `all`.
};

// A graph under construction whose nodes are on a CPU and on two devices that play a GPU, and its session. All memory
// is counted.
class StreamsFixture : public ::testing::Test {
 protected:
  static constexpr char kCpu[] = "/device:CPU:0";
  static constexpr char kGpu[] = "/device:GPU:0";
  static constexpr char kOther[] = "/device:GPU:1";

  StreamsFixture() : b_(NewOpRegistry()) {
    RegisterAllKernels(registry_);
    EXPECT_OK(AddFakeKernels(registry_));
  }

  void MakeDevices(FakeDevice::Options options = {}) {
    devices_ = std::make_unique<FakeDevices>(2, options, &allocator_);
  }
  void Open(SessionOptions options = {}) {
    if (devices_ == nullptr) MakeDevices();
    if (options.num_threads == 0) options.num_threads = 2;
    options.devices = devices_->all;
    options.kernels = &registry_;
    ASSERT_OK(b_.status());
    ASSERT_OK_AND_ASSIGN(session_, Session::Create(options, b_.graph()));
  }
  FakeDevice& gpu() { return *devices_->fakes[0]; }
  FakeDevice& other() { return *devices_->fakes[1]; }

  absl::StatusOr<Tensor> Fetch(const std::string& name, const NamedTensors& feeds = {}, CallOptions options = {}) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session_->Run(feeds, {name}, {}, options));
    return std::move(values[0]);
  }
  static Tensor Floats(int64_t count, float first = 0) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 1000);
    return Tensor::Vector<float>(values);
  }
  // y = x * 2 + 1 on the first GPU.
  Output AddScaled(const Output& x) {
    b_.WithDevice(kGpu);
    const Output twice = b_.Op("AddV2", "twice", {x, x});
    const Output y = b_.Op("AddV2", "y", {twice, b_.Const("one", Tensor::Scalar(1.0f))});
    b_.WithDevice("");
    return y;
  }

  // Whatever happened: no memory of either kind stays.
  void TearDown() override {
    session_.reset();
    if (devices_ != nullptr) {
      devices_->Settle();
      for (FakeDevice* const fake : devices_->fakes) EXPECT_EQ(fake->live_bytes(), 0) << fake->name();
    }
    EXPECT_EQ(allocator_.live_bytes(), 0);
  }

  TrackingAllocator allocator_{CpuAllocator()};
  KernelRegistry registry_;
  GraphBuilder b_;
  std::unique_ptr<FakeDevices> devices_;
  std::unique_ptr<Session> session_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_STREAMS_STREAMS_FIXTURE_H_
