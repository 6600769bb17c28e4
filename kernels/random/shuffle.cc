// RandomShuffle and StatelessShuffle: the rows of a tensor in a random order (Fisher and Yates).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/moved_types.h"
#include "kernels/forward_or_copy.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/philox_words.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Memory for the places of `rows` rows.
absl::StatusOr<Tensor> MakeOrder(KernelContext& context, int64_t rows) {
  if (rows > int64_t{std::numeric_limits<uint32_t>::max()}) {
    return Error(ErrorCode::kOpTooLarge)
        .Input(0, "value")
        .Found(absl::StrCat(rows, " rows"))
        .Expected("fewer than 2^32");
  }
  return context.AllocateTemp(DType::kInt64, Shape::Of({rows}));
}

// Row i of the result is row order[i] of the input.
absl::Status FillOrder(const KernelContext& context, const Philox& first, Tensor* order) {
  constexpr int64_t kRowsBetweenPolls = 1 << 16;
  const Workers workers(context.run());
  int64_t* const places = order->flat<int64_t>().data();
  const int64_t rows = order->num_elements();
  context.ParallelFor(rows, 1.0, [places](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) places[i] = i;
  });
  PhiloxWords words(first);
  for (int64_t i = 0; i + 1 < rows; ++i) {
    if (i % kRowsBetweenPolls == 0 && workers.MustStop()) return workers.WhyStopped();
    std::swap(places[i], places[i + words.Next32() % static_cast<uint32_t>(rows - i)]);
  }
  return absl::OkStatus();
}

absl::Status MoveRows(KernelContext& context, const Tensor& order) {
  const Tensor& from = context.input(0);
  const int64_t rows = from.dim(0);
  const int64_t row = from.num_elements() / rows;
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, from.shape()));
  const int64_t* const places = order.flat<int64_t>().data();
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const elements = Elements<T>(from);
    T* const to = Elements<T>(*out);
    context.ParallelFor(rows, 2.0 + kMoveNs<T> * static_cast<double>(row), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(elements + places[i] * row, row, to + i * row);
    });
  });
  return absl::OkStatus();
}

// Whether there is one order only.
bool HasOneOrder(const Tensor& value) { return value.rank() == 0 || value.dim(0) <= 1 || value.num_elements() <= 1; }

// An order by the numbers of a sequence that belongs to the node.
class RandomShuffleKernel final : public GeneratorKernel {
 public:
  explicit RandomShuffleKernel(const SeededGenerator::Seeds& seeds) : GeneratorKernel(seeds) {}

  absl::Status Compute(KernelContext& context) const override {
    if (HasOneOrder(context.input(0))) return ForwardOrCopy(context, 0);
    const int64_t rows = context.input(0).dim(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor order, MakeOrder(context, rows));
    const uint64_t blocks = static_cast<uint64_t>(rows - 1 + 3) / 4;  // A word for each row but one.
    SLUICE_RETURN_IF_ERROR(FillOrder(context, generator_.Reserve(blocks), &order));
    return MoveRows(context, order);
  }
};

absl::Status StatelessShuffle(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadKeyCounterGenerator(context, 1));
  if (HasOneOrder(context.input(0))) return ForwardOrCopy(context, 0);
  SLUICE_ASSIGN_OR_RETURN(Tensor order, MakeOrder(context, context.input(0).dim(0)));
  SLUICE_RETURN_IF_ERROR(FillOrder(context, first, &order));
  return MoveRows(context, order);
}

constexpr DTypeSet kTypes = kNumberTypes | DTypeSet{DType::kBool, DType::kString, DType::kResource, DType::kVariant};

constexpr KernelRow kRows[] = {
    KernelRow("RandomShuffle", &NewWith<RandomShuffleKernel, &SeededGenerator::ReadSeeds>).Types("T", kTypes),
    KernelRow("StatelessShuffle", &Call<&StatelessShuffle>).Types("T", kTypes).HostInput("alg"),
};

}  // namespace

absl::Span<const KernelRow> ShuffleKernels() { return kRows; }

}  // namespace sluice
