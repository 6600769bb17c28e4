#include "executor/session/generator_states.h"

#include <memory>
#include <string>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// One random op of each family whose node keeps its generator, by names "r0", "r1", ...
Graph RandomOps(int* count) {
  GraphBuilder b(NewOpRegistry());
  const Output shape = b.Const("shape", Tensor::Vector<int32_t>({5}));
  const GraphBuilder::Attrs seeds = {{"seed", int64_t{1}}, {"seed2", int64_t{2}}};
  const auto with = [&seeds](GraphBuilder::Attrs attrs) {
    attrs.insert(attrs.end(), seeds.begin(), seeds.end());
    return attrs;
  };
  *count = 0;
  const auto add = [&](const char* op, std::vector<Output> inputs, GraphBuilder::Attrs attrs) {
    b.Op(op, "r" + std::to_string((*count)++), std::move(inputs), with(std::move(attrs)));
  };
  const Output one = b.Const("one", Tensor::Vector<float>({1})),
               logits = b.Const("logits", Tensor::Of<float>(Shape::Of({1, 3}), {0, 0, 0}));
  const Output low = b.Const("low", Tensor::Scalar(int32_t{0})), high = b.Const("high", Tensor::Scalar(int32_t{1000}));
  add("RandomUniform", {shape}, {{"dtype", DType::kFloat}});
  add("TruncatedNormal", {shape}, {{"dtype", DType::kFloat}});
  add("RandomUniformInt", {shape, low, high}, {});
  add("RandomGamma", {shape, one}, {});
  add("RandomPoissonV2", {shape, one}, {});
  add("Multinomial", {logits, b.Const("samples", Tensor::Scalar(int32_t{20}))}, {});
  add("RandomShuffle", {b.Const("values", Tensor::Vector<int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}))}, {});
  absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

TEST(GeneratorStatesTest, ARestoredSessionGoesOnWithTheSameNumbers) {
  int count = 0;
  const Graph graph = RandomOps(&count);
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back("r" + std::to_string(i));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), graph));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> first, session->Run({}, all, {}));
  NamedTensors states;
  AppendGeneratorStates(*session, {}, &states);
  EXPECT_EQ(states.size(), all.size());
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> one, session->Prepare({{}, {"r1"}, {}, {}}));
  NamedTensors of_one;
  AppendGeneratorStates(*session, {one.get()}, &of_one);
  ASSERT_EQ(of_one.size(), 1);
  EXPECT_EQ(of_one[0].first, "sluice_generator/r1");
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> wanted, session->Run({}, all, {}));

  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> other, Session::Create(SessionOptions(), graph));
  ASSERT_OK(other->Prepare({{}, all, {}, {}}));
  states.emplace_back("sluice_generator/elsewhere", states[0].second);
  ASSERT_OK(RestoreGeneratorStates(*other, states));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, other->Run({}, all, {}));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(wanted[i].bytes(), first[i].bytes()) << all[i];
    EXPECT_EQ(wanted[i].bytes(), got[i].bytes()) << all[i];
  }
}

// A node on another device of the session than the first, and one that has moved there.
TEST(GeneratorStatesTest, AnyDeviceGoesOn) {
  const auto graph_on = [](const char* device) {
    GraphBuilder b(NewOpRegistry());
    const Output r = b.Op("RandomUniform", "r", {b.Const("shape", Tensor::Vector<int32_t>({5}))},
                          {{"dtype", DType::kFloat}, {"seed", int64_t{1}}, {"seed2", int64_t{2}}});
    b.SetDevice(r, device);
    return *b.Build();
  };
  SessionOptions options;
  options.num_cpu_devices = 2;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, graph_on("/device:CPU:1")));
  ASSERT_OK(session->Run({}, {"r"}, {}));
  NamedTensors states;
  AppendGeneratorStates(*session, {}, &states);
  ASSERT_EQ(states.size(), 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> wanted, session->Run({}, {"r"}, {}));
  for (const char* device : {"/device:CPU:0", "/device:CPU:1"}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> other, Session::Create(options, graph_on(device)));
    ASSERT_OK(other->Prepare({{}, {"r"}, {}, {}}));
    ASSERT_OK(RestoreGeneratorStates(*other, states));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, other->Run({}, {"r"}, {}));
    EXPECT_EQ(wanted[0].bytes(), got[0].bytes()) << device;
  }
}

TEST(GeneratorStatesTest, WhatIsNoStateIsAnError) {
  int count = 0;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), RandomOps(&count)));
  ASSERT_OK(session->Prepare({{}, {"r0"}, {}, {}}));
  EXPECT_FALSE(RestoreGeneratorStates(*session, {{"sluice_generator/r0", Tensor::Scalar(1.0f)}}).ok());
  EXPECT_OK(RestoreGeneratorStates(*session, {{"w", Tensor::Scalar(1.0f)}}));
}

}  // namespace
}  // namespace sluice
