// CTCGreedyDecoder: the best class of each step, without blanks, repeats as one where asked to.

#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sequence/ctc_inputs.h"
#include "kernels/sequence/decoded_labels.h"
#include "kernels/sequence/families.h"

namespace sluice {
namespace {

// Decodes all sequences into a sparse matrix of labels.
class CtcGreedyDecoderKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool merges, construction.Get<bool>("merge_repeated"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t blank, construction.Get<int64_t>("blank_index"));
    return std::make_unique<CtcGreedyDecoderKernel>(merges, blank);
  }
  CtcGreedyDecoderKernel(bool merges, int64_t blank) : merges_(merges), blank_(blank) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CtcInputs inputs, ReadCtcInputs(context, 1, ErrorCode::kOpPrecondition));
    if (blank_ < -inputs.classes || blank_ >= inputs.classes) {
      return AttrError("blank_index", blank_, absl::StrCat(-inputs.classes, " to ", inputs.classes - 1));
    }
    SLUICE_ASSIGN_OR_RETURN(DecodedLabels decoded, DecodedLabels::Make(context, inputs, 1));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const scores, context.AllocateOutput(3, Shape::Of({inputs.batch, 1})));
    if (scores->dtype() == DType::kFloat) {
      DecodeAll<float>(context, inputs, &decoded, scores);
    } else {
      DecodeAll<double>(context, inputs, &decoded, scores);
    }
    return decoded.SetOutputs(context);
  }

 private:
  template <typename T>
  void DecodeAll(const KernelContext& context, const CtcInputs& inputs, DecodedLabels* decoded, Tensor* scores) const {
    const T* const from = context.input(0).flat<T>().data();
    T* const sums = scores->flat<T>().data();
    const double sequence_ns = static_cast<double>(inputs.time) * static_cast<double>(inputs.classes);
    context.ParallelFor(inputs.batch, sequence_ns, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) sums[b] = Decode(from, inputs, b, decoded);
    });
  }

  // The score: the sum of those that were best, negated.
  template <typename T>
  T Decode(const T* from, const CtcInputs& inputs, int64_t b, DecodedLabels* decoded) const {
    const int64_t blank = blank_ < 0 ? blank_ + inputs.classes : blank_;
    int64_t* const labels = decoded->labels(0, b);
    int64_t count = 0, before = -1;
    T sum = 0;
    for (int64_t t = 0; t < inputs.lengths[static_cast<size_t>(b)]; ++t) {
      const T* const row = from + inputs.row(t, b);
      int64_t best = 0;
      for (int64_t c = 1; c < inputs.classes; ++c) best = row[best] < row[c] ? c : best;
      sum -= row[best];
      if (best != blank && !(merges_ && best == before)) labels[count++] = best;
      before = best;
    }
    decoded->count(0, b) = count;
    return sum;
  }

  const bool merges_;
  const int64_t blank_;
};

constexpr KernelRow kRows[] = {
    KernelRow("CTCGreedyDecoder", &New<CtcGreedyDecoderKernel>).Types("T", {DType::kFloat, DType::kDouble}),
};

}  // namespace

absl::Span<const KernelRow> CtcGreedyDecoderKernels() { return kRows; }

}  // namespace sluice
