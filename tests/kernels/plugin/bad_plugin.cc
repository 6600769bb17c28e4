// A plug-in whose kernels break the rules, each in its own way.

#include <stdexcept>
#include <utility>

#include "kernels/plugin/plugin_op.h"

namespace {

using sluice_op::AsyncCall;
using sluice_op::Call;

struct SetsNothing {
  void Compute(Call&) const {}
};

struct SetsWrongType {
  void Compute(Call& call) const {
    SluiceTensor* made = nullptr;
    sluice_op::Check(sluice_op::api->allocate_temp(call.handle(), SLUICE_INT32, 0, nullptr, &made));
    call.SetOutput(0, sluice_op::Tensor(made));
  }
};

struct SetsNoTensor {
  void Compute(Call& call) const { call.SetOutput(0, sluice_op::Tensor()); }
};

struct ReadsNoTensor {
  void Compute(Call& call) const {
    const sluice_op::Tensor none;
    call.SetScalar<float>(0, none.view<float>()[0]);
  }
};

// Input 0 is not an output.
struct WritesAnInput {
  void Compute(Call& call) const { call.strings(0).Set(0, "mine"); }
};

struct ReadsWrongType {
  void Compute(Call& call) const { call.SetScalar<float>(0, static_cast<float>(call.input<double>(0)[0])); }
};

struct ReadsTooMany {
  void Compute(Call& call) const { call.PassInput(0, 5); }
};

struct WritesTooMany {
  void Compute(Call& call) const { call.PassInput(-1, 0); }
};

struct AllocatesNonsense {
  void Compute(Call& call) const { call.Allocate<float>(0, {-5}); }
};

// An error that was used up for another call.
struct FailsWithAnOldError {
  void Compute(Call& call) const {
    call.PassInput(0, 0);
    const sluice_op::Failure failure(SLUICE_OUT_OF_RANGE, "there is no row 7");
    sluice_op::api->delete_status(sluice_op::Failure(failure).Take());
    throw failure;
  }
};

struct FailsInPart {
  void Compute(Call& call) const {
    call.ParallelFor(100000, 1000, [](int64_t begin, int64_t end) {
      if (begin <= 77 && 77 < end) sluice_op::Fail(SLUICE_FAILED_PRECONDITION, "part 77 is not ready");
    });
  }
};

struct FinishesTwice {
  void ComputeAsync(AsyncCall call) const {
    call.PassInput(0, 0);
    AsyncCall other(call.handle(), call.done());
    call.Finish();
    other.Finish();
  }
};

struct Drops {
  void ComputeAsync(AsyncCall) const {}
};

struct ThrowsLater {
  void ComputeAsync(AsyncCall) const { throw std::runtime_error("later never comes"); }
};

struct FailsLater {
  void ComputeAsync(AsyncCall) const { sluice_op::Fail(SLUICE_OUT_OF_RANGE, "there is no row 7"); }
};

struct FailsToBeMade {
  explicit FailsToBeMade(sluice_op::Node& node) { node.Attr<int64_t>("no_such_attr"); }
  void Compute(Call&) const {}
};

// Exceptions that cross the border, as from a plug-in in C++ without plugin_op.h.
SluiceStatus* MakesNothing(void*, SluiceNode*, void**) { return nullptr; }
SluiceStatus* ThrowsInCompute(void*, SluiceCall*) { throw std::runtime_error("thrown across the border"); }
void ThrowsInComputeAsync(void*, SluiceCall*, SluiceDone) { throw std::runtime_error("thrown across the border"); }
void ThrowsInDestroy(void*) { throw std::runtime_error("thrown across the border"); }

void AsksForTooMany(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(0, g.Input(7)); }
void SetsTooMany(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(3, g.Dy()); }
void SetsOtherType(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(0, g.Op("Shape", {g.Input(0)})); }
void AddsUnknownOp(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(0, g.Op("NoSuchOp", {g.Dy()})); }
void AddsNoOutput(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(0, g.Op("NoOp", {})); }
void NeedsANumberTooLarge(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(0, g.Op("Shape", {g.Input(0)}) * 1e300); }
void InventsAValue(sluice_op::Node&, sluice_op::Gradients& g) { g.Set(0, sluice_op::Value(g.handle(), 99)); }
SluiceStatus* ThrowsInGradient(void*, SluiceNode*, SluiceGradients*) {
  throw std::runtime_error("thrown across the border");
}

void BadShape(sluice_op::Node&, sluice_op::Shapes& shapes) { shapes.Pass(7, 0); }

template <typename K>
void AddOp(sluice_op::Registration& r, const char* name) {
  r.Add(sluice_op::Op(name).Input("x: float").Output("y: float"));
  r.Add(sluice_op::Kernel<K>(name));
}

template <sluice_op::GradientFunction kGradient>
void AddGradient(sluice_op::Registration& r, const char* name) {
  r.Add(sluice_op::Op(name).Input("x: float").Output("y: float").Gradient<kGradient>());
}

void AddGradients(sluice_op::Registration& r) {
  AddGradient<&AsksForTooMany>(r, "AsksForTooMany");
  AddGradient<&SetsTooMany>(r, "SetsTooMany");
  AddGradient<&SetsOtherType>(r, "SetsOtherType");
  AddGradient<&AddsUnknownOp>(r, "AddsUnknownOp");
  AddGradient<&AddsNoOutput>(r, "AddsNoOutput");
  AddGradient<&NeedsANumberTooLarge>(r, "NeedsANumberTooLarge");
  AddGradient<&InventsAValue>(r, "InventsAValue");
  r.Add(sluice_op::Op("ThrowsInGradient").Input("x: float").Output("y: float"));
  const SluiceGradientDef gradient = {sizeof(gradient), "ThrowsInGradient", &ThrowsInGradient, nullptr};
  sluice_op::Check(sluice_op::api->add_gradient(r.handle(), &gradient));
}

void Add(sluice_op::Registration& r) {
  AddGradients(r);
  AddOp<SetsNothing>(r, "SetsNothing");
  AddOp<SetsWrongType>(r, "SetsWrongType");
  AddOp<SetsNoTensor>(r, "SetsNoTensor");
  AddOp<ReadsNoTensor>(r, "ReadsNoTensor");
  r.Add(sluice_op::Op("WritesAnInput").Input("x: string").Output("y: string"));
  r.Add(sluice_op::Kernel<WritesAnInput>("WritesAnInput"));
  AddOp<ReadsWrongType>(r, "ReadsWrongType");
  AddOp<ReadsTooMany>(r, "ReadsTooMany");
  AddOp<WritesTooMany>(r, "WritesTooMany");
  AddOp<AllocatesNonsense>(r, "AllocatesNonsense");
  AddOp<FailsWithAnOldError>(r, "FailsWithAnOldError");
  AddOp<FailsInPart>(r, "FailsInPart");
  AddOp<FinishesTwice>(r, "FinishesTwice");
  AddOp<Drops>(r, "Drops");
  AddOp<ThrowsLater>(r, "ThrowsLater");
  AddOp<FailsLater>(r, "FailsLater");
  AddOp<FailsToBeMade>(r, "FailsToBeMade");
  r.Add(sluice_op::Op("BadShape").Input("x: float").Output("y: float").Shapes<&BadShape>());
  r.Add(sluice_op::Op("Throws").Input("x: float").Output("y: float"));
  SluiceKernelDef def{};
  def.struct_size = sizeof(def);
  def.op = "Throws";
  def.create = &MakesNothing;
  def.compute = &ThrowsInCompute;
  def.destroy = &ThrowsInDestroy;
  sluice_op::Check(sluice_op::api->add_kernel(r.handle(), &def));
  r.Add(sluice_op::Op("ThrowsAsync").Input("x: float").Output("y: float"));
  def.op = "ThrowsAsync";
  def.compute = nullptr;
  def.compute_async = &ThrowsInComputeAsync;
  sluice_op::Check(sluice_op::api->add_kernel(r.handle(), &def));
}

}  // namespace

SLUICE_PLUGIN("bad", "1.0", Add)
