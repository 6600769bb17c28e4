// A plug-in with one op of each kind, written with plugin_op.h.

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_op.h"
#include "tests/kernels/plugin/plugin_threads.h"

namespace {

using sluice_op::AsyncCall;
using sluice_op::Call;
using sluice_op::Node;
using sluice_op::Shape;
using sluice_op::Shapes;

// Elementwise, on several threads, in place where that may be: y = x * scale.
template <typename T>
class ScaleKernel {
 public:
  explicit ScaleKernel(Node& node) : scale_(node.Attr<float>("scale")) {}
  void Compute(Call& call) const {
    const auto x = call.input<T>(0);
    const auto y = call.Forward<T>(0, x.dims(), {0});
    call.ParallelFor(x.size(), /*unit_ns=*/100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * static_cast<T>(scale_);
    });
  }

 private:
  const float scale_;
};

// Strings: all parts with the separator between them. TensorFlow's StringJoin for scalars.
class JoinKernel {
 public:
  explicit JoinKernel(Node& node) : separator_(node.Attr<std::string>("separator")) {}
  void Compute(Call& call) const {
    std::string joined;
    for (int i = 0; i < call.num_inputs(); ++i) {
      if (i > 0) joined += separator_;
      joined += call.strings(i)[0];
    }
    call.AllocateStrings(0, {}).Set(0, joined);
  }

 private:
  const std::string separator_;
};

// A shape op: rows [0, count) of x.
struct HeadKernel {
  void Compute(Call& call) const {
    const auto x = call.input<float>(0);
    const int64_t count = call.input<int64_t>(1)[0];
    if (x.rank() != 1) sluice_op::FailInput(0, "has the wrong rank", std::to_string(x.rank()), "a vector");
    if (count < 0 || count > x.size()) sluice_op::Fail(SLUICE_OUT_OF_RANGE, "count is " + std::to_string(count));
    const auto y = call.Allocate<float>(0, {count});
    for (int64_t i = 0; i < count; ++i) y[i] = x[i];
  }
};

void HeadShape(Node&, Shapes& shapes) {
  std::vector<int64_t> count;
  const bool is_known = shapes.InputValue(1, &count) && count.size() == 1 && count[0] != SLUICE_UNKNOWN_VALUE;
  if (is_known && count[0] < 0) sluice_op::Fail(SLUICE_OUT_OF_RANGE, "count is negative");
  shapes.Set(0, Shape::Of({is_known ? count[0] : -1}));
}

// State in the kernel: how often it was called, from a start that is given.
class CountKernel {
 public:
  explicit CountKernel(Node& node) : calls_(node.Attr<int64_t>("start")) {}
  void Compute(Call& call) const { call.SetScalar<int64_t>(0, calls_++); }

 private:
  mutable std::atomic<int64_t> calls_;
};

PluginThreads threads;

// Asynchronous: the answer comes from a thread of the plug-in's own.
struct LaterKernel {
  void ComputeAsync(AsyncCall call) const {
    threads.Start([call = std::move(call)]() mutable {
      const auto x = call.input<float>(0);
      const auto y = call.Allocate<float>(0, x.dims());
      for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
      call.Finish();
    });
  }
};

// Asynchronous: waits until the run is cancelled.
class WaitKernel {
 public:
  void ComputeAsync(AsyncCall call) const {
    auto waiting = std::make_unique<AsyncCall>(std::move(call));
    int64_t token = 0;
    AsyncCall* const kept = waiting.release();  // The callback's.
    if (!kept->OnCancel(&End, kept, &token)) End(kept);
  }

 private:
  static void End(void* data) {
    const std::unique_ptr<AsyncCall> call(static_cast<AsyncCall*>(data));
    call->FinishWith(sluice_op::Failure(SLUICE_CANCELLED, "the wait was cancelled"));
  }
};

// Every kind of attr, as one text.
class AttrsKernel {
 public:
  explicit AttrsKernel(Node& node) {
    text_ = node.op() + " " + node.name() + ": " + std::to_string(node.Attr<int64_t>("i")) + " " +
            std::to_string(node.Attr<bool>("b")) + " " + node.Attr<std::string>("s") + " " +
            std::to_string(static_cast<int>(node.Attr<sluice_op::Type>("t"))) + " ";
    for (const int64_t dim : node.Attr<Shape>("shape").dims) text_ += std::to_string(dim) + ",";
    const auto tensor = node.Attr<sluice_op::Tensor>("tensor");
    for (const float value : tensor.view<float>()) {
      text_ += " " + std::to_string(static_cast<int>(value));
    }
    for (const int64_t value : node.Attr<std::vector<int64_t>>("ints")) text_ += " " + std::to_string(value);
    for (const std::string& value : node.Attr<std::vector<std::string>>("strings")) text_ += " " + value;
    for (const bool value : node.Attr<std::vector<bool>>("bools")) text_ += value ? " yes" : " no";
    for (const sluice_op::Type value : node.Attr<std::vector<sluice_op::Type>>("types")) {
      text_ += " " + std::to_string(static_cast<int>(value));
    }
    const auto [first, count] = node.InputRange("x");
    text_ += " x " + std::to_string(first) + "+" + std::to_string(count) + (node.HasAttr("none") ? "" : " none");
    const auto [out, outs] = node.OutputRange("y");
    text_ += " y " + std::to_string(out) + "+" + std::to_string(outs);
    for (const int fact : {node.num_inputs(), node.num_outputs(), node.input_type(0), node.output_type(0)}) {
      text_ += " " + std::to_string(fact);
    }
  }
  void Compute(Call& call) const { call.AllocateStrings(0, {}).Set(0, text_); }

 private:
  std::string text_;
};

// Keeps its first input, and gives that ever after.
class FirstKernel {
 public:
  void Compute(Call& call) const {
    if (first_.handle() == nullptr) first_ = call.KeepInput(0);
    call.SetOutput(0, first_);
  }

 private:
  mutable sluice_op::Tensor first_;
};

// The rows backwards, by way of a tensor of the kernel's own; and where the call is.
struct BackwardsKernel {
  void Compute(Call& call) const {
    const auto x = call.input<float>(0);
    const sluice_op::Tensor made = call.AllocateTemp<float>(x.dims());
    const auto to = made.mutable_view<float>();
    for (int64_t i = 0; i < x.size(); ++i) to[i] = x[x.size() - 1 - i];
    call.SetOutput(0, made);
    const auto place = call.Allocate<int64_t>(1, {2});
    place[0] = call.step_id();
    place[1] = call.iteration();
  }
};

// Two outputs, each in the memory of whichever input is left.
struct SumAndDifferenceKernel {
  void Compute(Call& call) const {
    const auto a = call.input<float>(0);
    const auto b = call.input<float>(1);
    const auto sum = call.Forward<float>(0, a.dims(), {0, 1});
    const auto difference = call.Forward<float>(1, a.dims(), {0, 1});
    for (int64_t i = 0; i < a.size(); ++i) {
      const float x = a[i], y = b[i];
      sum[i] = x + y;
      difference[i] = x - y;
    }
  }
};

// The sizes of x, in the memory of x as a vector.
struct SizesKernel {
  void Compute(Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.Forward<float>(0, {x.size()}, {0});
    for (int64_t i = 0; i < x.rank(); ++i) y[i] = static_cast<float>(x.dims()[static_cast<size_t>(i)]);
  }
};

// Works for ever in small parts, and overlooks that it was told to stop.
void WorkForEver(const Call& call) {
  const auto part = [](void*, int64_t begin, int64_t end) -> SluiceStatus* {
    for (volatile int64_t i = begin; i < end;) i = i + 1;
    return nullptr;
  };
  sluice_op::api->delete_status(
      sluice_op::api->parallel_for(call.handle(), int64_t{1} << 50, /*unit_ns=*/1, part, nullptr));
}

struct EndlessKernel {
  void Compute(Call& call) const {
    WorkForEver(call);
    call.SetScalar<int64_t>(0, 7);
  }
};

// The same, with an error of its own.
struct EndlessLaterKernel {
  void ComputeAsync(AsyncCall call) const {
    WorkForEver(call);
    call.FinishWith(sluice_op::Failure(SLUICE_INTERNAL, "there is no result"));
  }
};

// Memory of the plug-in's own, with a count of what is in use.
struct OwnMemoryKernel {
  static inline std::atomic<int64_t> live{0};

  void Compute(Call& call) const {
    constexpr int64_t kDims[] = {64};
    auto memory = std::make_unique<std::vector<int64_t>>(64, live.fetch_add(1) + 1);
    void* const data = memory->data();
    SluiceTensor* made = nullptr;
    sluice_op::Check(sluice_op::api->wrap_memory(SLUICE_INT64, 1, kDims, data, 64 * sizeof(int64_t), &Release,
                                                 memory.release(), &made));
    call.SetOutput(0, sluice_op::Tensor(made));
  }
  static void Release(void* memory) {
    std::unique_ptr<std::vector<int64_t>>(static_cast<std::vector<int64_t>*>(memory)).reset();
    live.fetch_sub(1);
  }
};

// A table of the plug-in's, the same memory in each call.
struct TableKernel {
  static inline float table[64];

  void Compute(Call& call) const {
    constexpr int64_t kDims[] = {64};
    SluiceTensor* made = nullptr;
    sluice_op::Check(
        sluice_op::api->wrap_memory(SLUICE_FLOAT, 1, kDims, table, sizeof(table), nullptr, nullptr, &made));
    SluiceView view;
    sluice_op::api->view_tensor(made, &view);
    sluice_op::Tensor kept(made);
    if (view.mutable_data != nullptr) sluice_op::Fail(SLUICE_INTERNAL, "the table may be written");
    call.SetOutput(0, kept);
  }
};

void BroadcastShape(Node&, Shapes& shapes) { shapes.SetBroadcast(0, 0, 1); }
void BothShape(Node&, Shapes& shapes) { shapes.SetSame(0, 0, 1); }
void SameShape(Node&, Shapes& shapes) { shapes.Pass(0, 0); }

// Those that keep tensors, lend memory or never end.
void ScaleGradient(sluice_op::Node& node, sluice_op::Gradients& g) { g.Set(0, g.Dy() * node.Attr<float>("scale")); }

// By way of nodes with attrs and several outputs.
void SumAndDifferenceGradient(sluice_op::Node&, sluice_op::Gradients& g) {
  const std::vector<sluice_op::NodeAttr> axis = {{"axis", int64_t{0}}, {"num", int64_t{2}}};
  const sluice_op::Value both = g.Op("Pack", {g.Dy(0) + g.Dy(1), g.Dy(0) - g.Dy(1)}, {axis[0]});
  const sluice_op::Value parts = g.Op("Unpack", {both}, axis);
  if (g.Wants(0)) g.Set(0, parts);
  if (g.Wants(1)) g.Set(1, parts.out(1));
}

void AddOthers(sluice_op::Registration& r) {
  r.Add(sluice_op::Op("PluginFirst").Input("x: float").Output("y: float").Stateful());
  r.Add(sluice_op::Kernel<FirstKernel>("PluginFirst"));
  r.Add(sluice_op::Op("PluginBackwards").Input("x: float").Output("y: float").Output("place: int64"));
  r.Add(sluice_op::Kernel<BackwardsKernel>("PluginBackwards"));
  r.Add(sluice_op::Op("PluginSumAndDifference")
            .Input("a: float")
            .Input("b: float")
            .Output("sum: float")
            .Output("difference: float")
            .Gradient<&SumAndDifferenceGradient>());
  r.Add(sluice_op::Kernel<SumAndDifferenceKernel>("PluginSumAndDifference"));
  r.Add(sluice_op::Op("PluginSizes").Input("x: float").Output("y: float"));
  r.Add(sluice_op::Kernel<SizesKernel>("PluginSizes"));
  r.Add(sluice_op::Op("PluginEndless").Output("y: int64").Stateful());
  r.Add(sluice_op::Kernel<EndlessKernel>("PluginEndless"));
  r.Add(sluice_op::Op("PluginEndlessLater").Output("y: int64").Stateful());
  r.Add(sluice_op::Kernel<EndlessLaterKernel>("PluginEndlessLater"));
  r.Add(sluice_op::Op("PluginOwnMemory").Output("y: int64").Stateful());
  r.Add(sluice_op::Kernel<OwnMemoryKernel>("PluginOwnMemory"));
  std::fill(std::begin(TableKernel::table), std::end(TableKernel::table), 5.0f);
  r.Add(sluice_op::Op("PluginTable").Output("y: float").Stateful());
  r.Add(sluice_op::Kernel<TableKernel>("PluginTable"));
  r.Add(sluice_op::Op("PluginBroadcast")
            .Input("a: T")
            .Input("b: T")
            .Output("y: T")
            .Attr("T: type")
            .Shapes<&BroadcastShape>());
  r.Add(sluice_op::Op("PluginBoth").Input("a: T").Input("b: T").Output("y: T").Attr("T: type").Shapes<&BothShape>());
}

void Add(sluice_op::Registration& r) {
  r.Add(sluice_op::Op("PluginScale")
            .Input("x: T")
            .Output("y: T")
            .Attr("scale: float = 2")
            .Attr("T: {float, double}")
            .Shapes<&SameShape>()
            .Gradient<&ScaleGradient>());
  r.Add(sluice_op::Kernel<ScaleKernel<float>>("PluginScale").Types("T", {SLUICE_FLOAT}));
  r.Add(sluice_op::Kernel<ScaleKernel<double>>("PluginScale").Types("T", {SLUICE_DOUBLE}));
  r.Add(sluice_op::Op("PluginJoin")
            .Input("parts: N * string")
            .Output("y: string")
            .Attr("N: int >= 1")
            .Attr("separator: string = '-'"));
  r.Add(sluice_op::Kernel<JoinKernel>("PluginJoin"));
  r.Add(sluice_op::Op("PluginHead").Input("x: float").Input("count: int64").Output("y: float").Shapes<&HeadShape>());
  r.Add(sluice_op::Kernel<HeadKernel>("PluginHead").HostMemory("count"));
  r.Add(sluice_op::Op("PluginCount").Output("calls: int64").Attr("start: int = 0").Stateful());
  r.Add(sluice_op::Kernel<CountKernel>("PluginCount").Cost(SLUICE_COST_CHEAP));
  r.Add(sluice_op::Op("PluginLater").Input("x: float").Output("y: float"));
  r.Add(sluice_op::Kernel<LaterKernel>("PluginLater"));
  r.Add(sluice_op::Op("PluginWait").Output("y: float"));
  r.Add(sluice_op::Kernel<WaitKernel>("PluginWait"));
  r.Add(sluice_op::Op("PluginAttrs")
            .Input("x: N * int32")
            .Output("y: string")
            .Attr("N: int >= 1")
            .Attr("i: int = 3")
            .Attr("b: bool = true")
            .Attr("s: string = 'text'")
            .Attr("t: type = DT_INT32")
            .Attr("shape: shape = {dim {size: 2} dim {size: -1}}")
            .Attr("tensor: tensor")
            .Attr("ints: list(int) = [4, 5]")
            .Attr("strings: list(string) = ['a', 'b']")
            .Attr("bools: list(bool) = [true, false]")
            .Attr("types: list(type) = [DT_FLOAT, DT_STRING]"));
  r.Add(sluice_op::Kernel<AttrsKernel>("PluginAttrs"));
  AddOthers(r);
}

}  // namespace

SLUICE_PLUGIN("good", "1.5", Add)
