#include "kernels/math/elementwise.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"
#include "kernels/math/broadcast.h"

namespace sluice {
namespace {

const char* At(const void* data, int64_t element, uint8_t size) {
  return static_cast<const char*>(data) + element * size;
}
char* At(void* data, int64_t element, uint8_t size) { return static_cast<char*>(data) + element * size; }

// Where a binary op finds its elements. The pointers stay good when a buffer moves from an input to the output.
struct Operands {
  const void* a;
  const void* b;
  void* out;
};

// `loop` over `n` elements of both inputs, or of one with the other repeated (a step of 0).
bool RunShards(KernelContext& context, const BinaryLoops& loops, BinaryLoop loop, int64_t n, const Operands& at,
               int64_t a_step, int64_t b_step) {
  std::atomic<bool> ok{true};
  ForShards(context, n, loops.unit_ns, [&](int64_t begin, int64_t end) {
    const bool part = loop(At(at.a, begin * a_step, loops.in_size), At(at.b, begin * b_step, loops.in_size),
                           At(at.out, begin, loops.out_size), end - begin);
    if (!part) ok.store(false, std::memory_order_relaxed);  // Read after all parts have joined.
  });
  return ok.load(std::memory_order_relaxed);
}

// The loop for rows of `broadcast`.
BinaryLoop RowLoop(const BinaryLoops& loops, const Broadcast& broadcast) {
  if (broadcast.step(0) == 0) return loops.repeat_a;
  return broadcast.step(1) == 0 ? loops.repeat_b : loops.both;
}

}  // namespace

absl::Status ComputeBroadcast(KernelContext& context, const BinaryLoops& loops, const Shape& a_shape,
                              const Shape& b_shape) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  SLUICE_ASSIGN_OR_RETURN(const Broadcast broadcast, Broadcast::Make({&a_shape, &b_shape}));
  const BinaryLoop loop = RowLoop(loops, broadcast);
  const void* const a_data = a.raw_data();
  const void* const b_data = b.raw_data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, broadcast.shape(), {0, 1}));
  void* const out_data = y->mutable_raw_data();
  std::atomic<bool> ok{true};
  ForShards(context, broadcast.shape().num_elements(), loops.unit_ns, [&](int64_t begin, int64_t end) {
    broadcast.ForRows(begin, end, [&](int64_t out, const Broadcast::Offsets& in, int64_t n) {
      const bool part = loop(At(a_data, in[0], loops.in_size), At(b_data, in[1], loops.in_size),
                             At(out_data, out, loops.out_size), n);
      if (!part) ok.store(false, std::memory_order_relaxed);  // Read after all parts have joined.
    });
  });
  return ok.load(std::memory_order_relaxed) ? absl::OkStatus() : FailureStatus(loops.failure);
}

absl::Status ComputeUnary(KernelContext& context, const UnaryLoops& loops) {
  const Tensor& x = context.input(0);
  const Shape shape = x.shape();
  const void* const x_data = x.raw_data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0}));
  void* const out_data = y->mutable_raw_data();
  ForShards(context, shape.num_elements(), loops.unit_ns, [&](int64_t begin, int64_t end) {
    loops.loop(At(x_data, begin, loops.in_size), At(out_data, begin, loops.out_size), end - begin);
  });
  return absl::OkStatus();
}

absl::Status ComputeBinary(KernelContext& context, const BinaryLoops& loops) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const bool is_same = a.shape() == b.shape();
  if (!is_same && a.rank() != 0 && b.rank() != 0) return ComputeBroadcast(context, loops, a.shape(), b.shape());
  const bool repeats_a = !is_same && a.rank() == 0;
  const bool repeats_b = !is_same && b.rank() == 0;
  const Shape shape = repeats_a ? b.shape() : a.shape();
  Operands at = {a.raw_data(), b.raw_data(), nullptr};
  SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0, 1}));
  at.out = y->mutable_raw_data();
  const BinaryLoop loop = repeats_a ? loops.repeat_a : repeats_b ? loops.repeat_b : loops.both;
  const bool ok = RunShards(context, loops, loop, shape.num_elements(), at, repeats_a ? 0 : 1, repeats_b ? 0 : 1);
  return ok ? absl::OkStatus() : FailureStatus(loops.failure);
}

absl::Status FailureStatus(Failure failure) {
  switch (failure) {
    case Failure::kInternalDivisionByZero:
      return Error(ErrorCode::kOpBroken).Input(1).Text("makes an integer division by zero");
    case Failure::kNegativePower:
      return Error(ErrorCode::kOpValue).Input(1).Text("is negative: an integer to a negative power is not an integer");
    default:
      return Error(ErrorCode::kOpValue).Input(1).Text("makes an integer division by zero");
  }
}

absl::Status NotSameShape(const Shape& a, const Shape& b) {
  return ShapesError(absl::StrCat(a.ToString(), " and ", b.ToString()), "equal shapes");
}

}  // namespace sluice
