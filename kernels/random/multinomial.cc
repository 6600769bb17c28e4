// Multinomial and StatelessMultinomial: classes drawn for each row of logits. TensorFlow's numbers of one thread: its
// own depend on how many threads share the rows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/philox_words.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The sizes of a call.
struct Draws {
  int64_t rows = 0;
  int64_t classes = 0;
  int64_t samples = 0;  // For each row.
};

absl::StatusOr<Draws> ReadSizes(const KernelContext& context) {
  const Tensor& logits = context.input(0);
  if (logits.rank() != 2 || logits.dim(1) == 0) {
    return ShapeError(0, "logits", logits.shape(), "a matrix of one class or more");
  }
  SLUICE_ASSIGN_OR_RETURN(const int64_t samples, ReadCount(context, 1, "num_samples"));
  return Draws{logits.dim(0), logits.dim(1), samples};
}

// Sums of the probabilities up to each class, not normalized; logits that are not finite add nothing. The whole sum.
template <typename T>
double SumProbabilities(const T* logits, int64_t classes, double* sums) {
  double largest = std::numeric_limits<double>::lowest();
  for (int64_t i = 0; i < classes; ++i) {
    sums[i] = ToDouble(logits[i]);
    if (std::isfinite(sums[i])) largest = std::max(largest, sums[i]);
  }
  double total = 0.0;
  for (int64_t i = 0; i < classes; ++i) {
    if (std::isfinite(sums[i])) total += std::exp(sums[i] - largest);
    sums[i] = total;
  }
  return total;
}

template <typename Out>
void DrawClasses(const double* sums, int64_t classes, int64_t samples, PhiloxWords& words, Out* out) {
  const double total = sums[classes - 1];
  for (int64_t i = 0; i < samples; ++i) {
    out[i] = static_cast<Out>(std::upper_bound(sums, sums + classes, words.NextDouble() * total) - sums);
  }
}

// Row after row in one sequence of words: two for each sample.
PhiloxWords WordsOfRow(const Philox& first, int64_t row, int64_t samples) {
  const uint64_t words = 2 * static_cast<uint64_t>(row) * static_cast<uint64_t>(samples);
  Philox generator = first;
  generator.Skip(words / 4);
  PhiloxWords from(generator);
  for (uint64_t i = 0; i < words % 4; ++i) from.Next32();
  return from;
}

template <typename T>
absl::Status DrawRows(const Workers& workers, const Philox& first, const Draws& draws, const Tensor& logits,
                      Tensor* out) {
  const T* const from = logits.flat<T>().data();
  const double row_ns =
      6.0 * static_cast<double>(draws.classes) +
      static_cast<double>(draws.samples) * (10.0 + 2.0 * std::log2(static_cast<double>(draws.classes)));
  return workers.ForEachPart(draws.rows, row_ns, [&, from](int64_t begin, int64_t end) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(Tensor scratch,
                            Tensor::Make(DType::kDouble, Shape::Of({draws.classes}), workers.allocator()));
    double* const sums = scratch.flat<double>().data();
    for (int64_t row = begin; row < end; ++row) {
      SumProbabilities(from + row * draws.classes, draws.classes, sums);
      PhiloxWords words = WordsOfRow(first, row, draws.samples);
      if (out->dtype() == DType::kInt32) {
        DrawClasses(sums, draws.classes, draws.samples, words, out->flat<int32_t>().data() + row * draws.samples);
      } else {
        DrawClasses(sums, draws.classes, draws.samples, words, out->flat<int64_t>().data() + row * draws.samples);
      }
    }
    return absl::OkStatus();
  });
}

absl::Status Draw(KernelContext& context, const Philox& first, const Draws& draws, Tensor* out) {
  absl::Status status;
  DispatchDType<FloatCppTypes>(context.input_type(0), [&](auto type) {
    using T = typename decltype(type)::Type;
    status = DrawRows<T>(Workers(context.run()), first, draws, context.input(0), out);
  });
  return status;
}

absl::StatusOr<Tensor*> AllocateClasses(KernelContext& context, const Draws& draws) {
  if (context.output_type(0) == DType::kInt32 && draws.classes > std::numeric_limits<int32_t>::max()) {
    return Error(ErrorCode::kOpTooLarge).Input(0, "logits").Found(absl::StrCat(draws.classes, " classes"));
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({draws.rows, draws.samples}));
  return context.AllocateOutput(0, shape);
}

// Samples by the numbers of a sequence that belongs to the node.
class MultinomialKernel final : public GeneratorKernel {
 public:
  explicit MultinomialKernel(const SeededGenerator::Seeds& seeds) : GeneratorKernel(seeds) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Draws draws, ReadSizes(context));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, AllocateClasses(context, draws));
    if (out->num_elements() == 0) return absl::OkStatus();
    const uint64_t rounded = static_cast<uint64_t>(draws.samples + 3) / 4 * 4;
    const Philox first = generator_.Reserve(static_cast<uint64_t>(draws.rows) * rounded * 2 * kBlocksPerNumber);
    return Draw(context, first, draws, out);
  }
};

absl::Status StatelessMultinomial(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadSeedGenerator(context, 2));
  SLUICE_ASSIGN_OR_RETURN(const Draws draws, ReadSizes(context));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, AllocateClasses(context, draws));
  if (out->num_elements() == 0) return absl::OkStatus();
  return Draw(context, first, draws, out);
}

constexpr absl::string_view kStatelessInputs[] = {"num_samples", "seed"};

constexpr KernelRow kRows[] = {
    KernelRow("Multinomial", &NewWith<MultinomialKernel, &SeededGenerator::ReadSeeds>)
        .Types("T", kFloatTypes)
        .Types("output_dtype", kIndexTypes)
        .HostInput("num_samples"),
    KernelRow("StatelessMultinomial", &Call<&StatelessMultinomial>)
        .Types("T", kFloatTypes)
        .Types("output_dtype", kIndexTypes)
        .HostInputs(kStatelessInputs),
};

}  // namespace

absl::Span<const KernelRow> MultinomialKernels() { return kRows; }

}  // namespace sluice
