#include "executor/trace/node_outputs.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/entry.h"
#include "gtest/gtest.h"
#include "kernels/kernel_context.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// What a callback was told, as "node:slot=value", in order. Thread-safe.
class Told {
 public:
  NodeOutputsCallback Callback() {
    return [this](absl::string_view node, int slot, const Tensor* value, bool is_ref, const KernelContext&) {
      std::string text = std::string(node) + ":" + std::to_string(slot) + (is_ref ? "&=" : "=");
      text += value == nullptr                  ? "none"
              : value->dtype() == DType::kInt32 ? std::to_string(*value->AsScalar<int32_t>())
                                                : "other";
      MutexLock lock(&mu_);
      texts_.push_back(std::move(text));
      return absl::OkStatus();
    };
  }
  std::vector<std::string> texts() const {
    MutexLock lock(&mu_);
    return texts_;
  }
  bool Has(const std::string& text) const { return PlaceOf(text) < texts().size(); }
  size_t PlaceOf(const std::string& text) const {
    const std::vector<std::string> all = texts();
    return static_cast<size_t>(std::find(all.begin(), all.end(), text) - all.begin());
  }

 private:
  mutable Mutex mu_;
  std::vector<std::string> texts_ ABSL_GUARDED_BY(mu_);
};

struct Case {
  const char* name;
  Driver driver;
  bool is_cut;  // Over two devices, with a transfer.
};

class NodeOutputsTest : public ::testing::TestWithParam<Case> {
 protected:
  NodeOutputsTest() : b_(NewOpRegistry()) {}

  // sum = x + 1, on another device square = sum * sum.
  void OpenSquares() {
    const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Scalar());
    const Output sum = b_.Op("AddV2", "sum", {x, b_.Const("one", Tensor::Scalar<int32_t>(1))});
    b_.SetDevice(b_.Op("Mul", "square", {sum, sum}), "/device:CPU:1");
    Open();
  }
  void Open() {
    SessionOptions options;
    options.num_threads = 2;
    options.driver = GetParam().driver;
    options.num_cpu_devices = 2;
    options.cut_by_device = GetParam().is_cut;
    absl::StatusOr<Graph> graph = b_.Build();
    ASSERT_OK(graph);
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, *std::move(graph));
    ASSERT_OK(session);
    session_ = *std::move(session);
  }
  absl::Status Run(const std::string& fetch, const NodeOutputsCallback* callback, NodeObserver* observer = nullptr) {
    CallOptions options;
    options.node_outputs = callback;
    options.observer = observer;
    const bool is_fed = fetch == "square";
    return session_
        ->Run(is_fed ? NamedTensors{{"x", Tensor::Scalar<int32_t>(2)}} : NamedTensors{}, {fetch}, {}, options)
        .status();
  }

  GraphBuilder b_;
  std::unique_ptr<Session> session_;
};

TEST_P(NodeOutputsTest, EachOutputIsToldOfWhenItsNodeHasRunAndBeforeItIsRead) {
  OpenSquares();
  Told told;
  const NodeOutputsCallback callback = told.Callback();
  for (size_t run = 1; run <= 5; ++run) {
    ASSERT_OK(Run("square", &callback));
    const std::vector<std::string> all = told.texts();
    EXPECT_EQ(std::count(all.begin(), all.end(), "sum:0=3"), static_cast<int64_t>(run));
    EXPECT_EQ(std::count(all.begin(), all.end(), "square:0=9"), static_cast<int64_t>(run));
    EXPECT_LT(told.PlaceOf("sum:0=3"), told.PlaceOf("square:0=9"));
  }
}

TEST_P(NodeOutputsTest, AnErrorOfTheCallbackIsTheNodesAndEndsTheRun) {
  OpenSquares();
  Told told;
  const NodeOutputsCallback count = told.Callback();
  const NodeOutputsCallback refuse = [&](absl::string_view node, int slot, const Tensor* value, bool is_ref,
                                         const KernelContext& context) -> absl::Status {
    if (node == "sum") return absl::OutOfRangeError("seen enough");
    return count(node, slot, value, is_ref, context);
  };
  const absl::Status status = Run("square", &refuse);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, "seen enough"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, "sum"));
  EXPECT_FALSE(told.Has("square:0=9"));
  ASSERT_OK(Run("square", &count)) << "the session is as it was";
  EXPECT_TRUE(told.Has("square:0=9"));
}

TEST_P(NodeOutputsTest, AnExceptionOfTheCallbackEndsTheRun) {
  OpenSquares();
  for (const bool is_memory : {false, true}) {
    const NodeOutputsCallback throws = [is_memory](absl::string_view node, int, const Tensor*, bool,
                                                   const KernelContext&) -> absl::Status {
      if (node != "square") return absl::OkStatus();
      if (is_memory) throw std::bad_alloc();
      throw std::runtime_error("no more");
    };
    EXPECT_THAT(Run("square", &throws),
                IsError(is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kKernelException, "square"));
  }
  ASSERT_OK(Run("square", nullptr));
}

TEST_P(NodeOutputsTest, AnObserverBesideItIsToldOfEverything) {
  class Counter final : public NodeObserver {
   public:
    void OnStart(NodeId, int64_t) override { ++started; }
    void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override { ++ended; }
    void OnFailure(NodeId, int64_t) override { ++failed; }
    std::atomic<int> started{0}, ended{0}, failed{0};
  };
  OpenSquares();
  Told told;
  const NodeOutputsCallback callback = told.Callback();
  Counter alone, beside;
  ASSERT_OK(Run("square", nullptr, &alone));
  ASSERT_OK(Run("square", &callback, &beside));
  EXPECT_GE(beside.ended, 2);
  EXPECT_EQ(beside.ended, alone.ended);
  EXPECT_EQ(beside.started, alone.started);
  EXPECT_EQ(beside.failed, 0);
  EXPECT_TRUE(told.Has("sum:0=3"));
}

TEST_P(NodeOutputsTest, AReferenceIsToldWithTheVariablesValue) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("Assign", "start", {v, b_.Const("seven", Tensor::Scalar<int32_t>(7))});
  Open();
  Told told;
  const NodeOutputsCallback callback = told.Callback();
  ASSERT_OK(Run("start", &callback));
  EXPECT_TRUE(told.Has("v:0&=none")) << "nothing was assigned yet";
  EXPECT_TRUE(told.Has("start:0&=7"));
  ASSERT_OK(Run("start", &callback));
  EXPECT_TRUE(told.Has("v:0&=7"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, NodeOutputsTest,
                         ::testing::Values(Case{"Auto", Driver::kAuto, false}, Case{"Serial", Driver::kSerial, false},
                                           Case{"Dataflow", Driver::kDataflow, false},
                                           Case{"Cut", Driver::kAuto, true}),
                         [](const ::testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

// Outputs of a call made by hand: of two slots the second is dead; and a node in the body of a function.
TEST(NodeOutputsObserverTest, DeadOutputsHaveNoValueAndNodesOfBodiesTheirPath) {
  GraphBuilder b(NewOpRegistry());
  b.Const("call", Tensor::Scalar<int32_t>(1));
  b.Const("inner", Tensor::Scalar<int32_t>(2));
  const Graph graph = *b.Build();
  Entry entries[2];
  entries[0].SetValue(Tensor::Scalar<int32_t>(5));
  entries[1].SetDead();
  const Operand operands[] = {Operand(Operand::Table::kSlots, 0, false), Operand(Operand::Table::kSlots, 1, false)};
  const DType types[] = {DType::kInt32, DType::kInt32};
  NodeIo io;
  io.operands = operands;
  io.output_types = types;
  io.num_inputs = 0;
  io.num_outputs = 2;
  EntryTables tables;
  tables.table[static_cast<size_t>(Operand::Table::kSlots)] = entries;
  RunContext run;
  KernelContext context(run, tables);
  context.SetNode(io);

  Told told;
  const NodeOutputsCallback callback = told.Callback();
  NodeOutputsObserver observer(graph, callback);
  observer.OnNode(graph.Find("inner"), 0, 0, context);
  const auto path = [] { return std::string("deeper/"); };
  observer.OnCalledNode({graph, graph.Find("inner"), graph.Find("call"), path}, 0, 0, context);
  EXPECT_EQ(told.texts(), (std::vector<std::string>{"inner:0=5", "inner:1=none", "call/deeper/inner:0=5",
                                                    "call/deeper/inner:1=none"}));
  const NodeOutputsCallback refuse = [](absl::string_view, int slot, const Tensor*, bool, const KernelContext&) {
    return slot == 1 ? absl::AbortedError("dead") : absl::OkStatus();
  };
  NodeOutputsObserver refuses(graph, refuse);
  EXPECT_THROW(refuses.OnNode(graph.Find("inner"), 0, 0, context), ObserverFailure);
}

// A dead value that crosses: the receive, asynchronous, is reported with a dead output, under both drivers.
TEST(NodeOutputsObserverTest, AReceiveOfADeadValueIsToldOf) {
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    GraphBuilder b(NewOpRegistry());
    const auto attrs = [](const char* type) {
      const std::string device = "/job:localhost/replica:0/task:0/device:CPU:0";
      return std::vector<std::pair<std::string, AttrValue>>{{"tensor_name", "edge"},
                                                            {"send_device", device},
                                                            {"send_device_incarnation", int64_t{1}},
                                                            {"recv_device", device},
                                                            {type, DType::kInt32}};
    };
    const Output x = b.Placeholder("x", DType::kInt32, PartialShape::Scalar());
    const Output taken = b.Placeholder("taken", DType::kBool, PartialShape::Scalar());
    const Output ports = b.Op("Switch", "branch", {x, taken});
    b.Op("_Send", "send", {GraphBuilder::Nth(ports, 1)}, attrs("T"));
    b.Op("Merge", "either", {b.Op("_Recv", "receive", {}, attrs("tensor_type")), GraphBuilder::Nth(ports, 0)});
    SessionOptions options;
    options.num_threads = 1;
    options.driver = driver;
    ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, std::move(graph)));
    Told told;
    const NodeOutputsCallback callback = told.Callback();
    CallOptions call;
    call.node_outputs = &callback;
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                         session->Run({{"x", Tensor::Scalar<int32_t>(4)}, {"taken", Tensor::Scalar(false)}}, {"either"},
                                      {"send"}, call));
    EXPECT_EQ(*values[0].AsScalar<int32_t>(), 4);
    EXPECT_TRUE(told.Has("receive:0=none"));
    EXPECT_FALSE(told.Has("receive:0=4"));
  }
}

}  // namespace
}  // namespace sluice
