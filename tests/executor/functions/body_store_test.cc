#include "executor/functions/body_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/functions/inliner.h"
#include "graph/functions/needed_parts.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "kernels/owned_kernel_row.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class BodyStoreTest : public ::testing::Test {
 protected:
  BodyStoreTest() : b_(NewOpRegistry()), device_("/job:localhost/replica:0/task:0/device:CPU:0", 1) {
    BodyStore::Options options;
    options.registry = &BuiltinKernels();
    options.device = &device_;
    store_ = std::make_unique<BodyStore>(options);
  }

  // Compiles the bodies for the calls of the graph; all calls stay calls.
  absl::StatusOr<BodyStore::Calls> Compile(int64_t version = 0) {
    const CallChoice choice(b_.graph(), CallPolicy::kCall, [](const OpSchema&) { return false; });
    BodyStore::Plan plan;
    plan.version = version;
    return store_->Compile(b_.graph(), choice, nullptr, plan);
  }
  Output AddCall(absl::string_view name, absl::string_view function) {
    return Call(b_, name, function, {x_}, {DType::kFloat});
  }

  GraphBuilder b_;
  const Output x_ = b_.Placeholder("x", DType::kFloat);
  CpuDevice device_;
  std::unique_ptr<BodyStore> store_;
};

TEST_F(BodyStoreTest, CallsOfOneFunctionHaveOneBody) {
  AddOne().AddTo(b_.graph());
  const Output a = AddCall("a", "AddOne"), b = AddCall("b", "AddOne");
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls calls, Compile());
  ASSERT_NE(calls.bodies, nullptr) << calls.why_not;
  const CalledBody* const body = calls.bodies->Find(b_.graph(), a.node);
  ASSERT_NE(body, nullptr);
  EXPECT_OK(body->status());
  EXPECT_NE(body->program(), nullptr);
  EXPECT_EQ(calls.bodies->Find(b_.graph(), b.node), body);
  EXPECT_EQ(calls.bodies->Find(b_.graph(), x_.node), nullptr) << "not a call";
}

// How a call runs its body makes a difference only where something in it has effects, or branches.
TEST_F(BodyStoreTest, AFunctionWithoutEffectsHasOneBodyHoweverItIsCalled) {
  AddOne().AddTo(b_.graph());
  FunctionText("CallsAddOne")
      .Arg("x: float")
      .Result("y: float", "call:output:0")
      .Node("call = PartitionedCall(x)", {{"Tin", std::vector<DType>{DType::kFloat}},
                                          {"Tout", std::vector<DType>{DType::kFloat}},
                                          {"f", AttrValue::Func("AddOne", {})}})
      .AddTo(b_.graph());
  Bump().AddTo(b_.graph());
  Forever().AddTo(b_.graph());
  Loop("Loops", "Forever", "AddOne").AddTo(b_.graph());
  const auto call_twice = [this](const std::string& function, const Output& input) {
    for (const BodyRun run : {BodyRun::kResults, BodyRun::kByName}) {
      const Output call = Call(b_, absl::StrCat(function, static_cast<int>(run)), function, {input}, {DType::kFloat});
      EXPECT_OK(b_.graph().SetAttr(call.node, kBodyRunAttr, AttrValue(static_cast<int64_t>(run))));
    }
  };
  call_twice("AddOne", x_);
  ASSERT_OK(Compile());
  EXPECT_EQ(store_->num_bodies(), 1u);
  call_twice("CallsAddOne", x_);
  ASSERT_OK(Compile());
  EXPECT_EQ(store_->num_bodies(), 2u) << "and AddOne, which both call";
  call_twice("Bump", b_.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}}));
  ASSERT_OK(Compile());
  EXPECT_EQ(store_->num_bodies(), 4u) << "it has effects";
  call_twice("Loops", x_);
  ASSERT_OK(Compile());
  EXPECT_EQ(store_->num_bodies(), 7u) << "loops are of two kinds, Forever is not";
}

TEST_F(BodyStoreTest, LaterGraphsGetTheSameBody) {
  AddOne().AddTo(b_.graph());
  const Output a = AddCall("a", "AddOne");
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls first, Compile());
  const Output b = AddCall("b", "AddOne");
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls second, Compile());
  EXPECT_EQ(first.bodies->Find(b_.graph(), a.node), second.bodies->Find(b_.graph(), b.node));
  EXPECT_EQ(store_->num_bodies(), 1u);
  store_->Clear();
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls third, Compile());
  EXPECT_NE(first.bodies->Find(b_.graph(), a.node), third.bodies->Find(b_.graph(), a.node));
  EXPECT_OK(first.bodies->Find(b_.graph(), a.node)->status());
}

TEST_F(BodyStoreTest, AnotherVersionOfTheGraphHasBodiesOfItsOwn) {
  AddOne().AddTo(b_.graph());
  const Output a = AddCall("a", "AddOne");
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls first, Compile(1));
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls second, Compile(2));
  EXPECT_NE(first.bodies->Find(b_.graph(), a.node), second.bodies->Find(b_.graph(), a.node));
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls late, Compile(1));
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls third, Compile(2));
  EXPECT_NE(late.bodies->Find(b_.graph(), a.node), second.bodies->Find(b_.graph(), a.node));
  EXPECT_EQ(third.bodies->Find(b_.graph(), a.node), second.bodies->Find(b_.graph(), a.node));
  EXPECT_EQ(store_->num_bodies(), 1u);
}

TEST_F(BodyStoreTest, ABodyWithoutAKernelIsAnErrorOfItsCallAndNotKept) {
  FunctionText("Lacks")
      .Arg("x: float")
      .Result("y: float", "y:output:0")
      .Node("y = MatrixInverse(x)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output call = AddCall("call", "Lacks");
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls calls, Compile());
  ASSERT_NE(calls.bodies, nullptr);
  EXPECT_THAT(calls.bodies->Find(b_.graph(), call.node)->status(), IsError(ErrorCode::kNoKernel, "MatrixInverse 'y'"));
  EXPECT_EQ(store_->num_bodies(), 0u);
}

TEST_F(BodyStoreTest, AStoppedCompilationLeavesNothing) {
  AddOne().AddTo(b_.graph());
  AddCall("call", "AddOne");
  const CallChoice choice(b_.graph(), CallPolicy::kCall, [](const OpSchema&) { return false; });
  StopPoll stop(absl::InfinitePast(), nullptr);
  EXPECT_THAT(store_->Compile(b_.graph(), choice, &stop, BodyStore::Plan()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(store_->num_bodies(), 0u);
}

// Kernels of such a body may be those from before.
TEST_F(BodyStoreTest, WhatWasBegunBeforeClearIsNotKept) {
  AddOne().AddTo(b_.graph());
  const Output call = AddCall("call", "AddOne");
  KernelRegistry registry;
  RegisterAllKernels(registry);
  ASSERT_OK(registry.Add(OwnedKernelRow("AddV2", [this](const KernelConstruction&) {
    store_->Clear();
    return std::make_unique<FunctionKernel>([](KernelContext&) { return absl::OkStatus(); }, CostHint::kByBytes);
  })));
  BodyStore::Options options;
  options.registry = &registry;
  options.device = &device_;
  store_ = std::make_unique<BodyStore>(options);
  ASSERT_OK_AND_ASSIGN(const BodyStore::Calls calls, Compile());
  ASSERT_NE(calls.bodies, nullptr) << calls.why_not;
  EXPECT_OK(calls.bodies->Find(b_.graph(), call.node)->status());
  EXPECT_EQ(store_->num_bodies(), 0u);
}

}  // namespace
}  // namespace sluice
