#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// Elements of one shape joined with a separator between them; scalars go with all elements.
class StringJoinKernel : public Kernel {
 public:
  explicit StringJoinKernel(std::string separator) : separator_(std::move(separator)) {}

  absl::Status Compute(KernelContext& context) const override {
    Shape shape;
    for (int i = 0, first = -1; i < context.num_inputs(); ++i) {
      const Tensor& input = context.input(i);
      if (input.rank() == 0) continue;
      if (first < 0) {
        first = i;
        shape = input.shape();
      } else if (input.shape() != shape) {
        return ShapesError(i, "", input.shape(),
                           absl::StrCat("a scalar, or the shape of input ", first, ": ", shape.ToString()));
      }
    }
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, BytesOf(context, shape.num_elements())));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    const absl::Span<TString> values = out->flat<TString>();
    context.ParallelFor(shape.num_elements(), 40.0 * context.num_inputs(), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) Join(context, static_cast<size_t>(at), &values[static_cast<size_t>(at)]);
    });
    return absl::OkStatus();
  }

 private:
  // The bytes of `count` results. A scalar is in each of them, so that little text can become much.
  int64_t BytesOf(const KernelContext& context, int64_t count) const {
    constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();
    const int64_t num_gaps = std::max(context.num_inputs() - 1, 0);
    int64_t of_each = num_gaps * static_cast<int64_t>(separator_.size()), others = 0, bytes = 0;
    for (int i = 0; i < context.num_inputs(); ++i) {
      (context.input(i).rank() == 0 ? of_each : others) += TotalBytes(context.input(i));
    }
    return CheckedMul(of_each, count, &bytes) && CheckedAdd(bytes, others, &bytes) ? bytes : kTooMany;
  }
  void Join(const KernelContext& context, size_t at, TString* out) const {
    const auto part = [&](int i) {
      const absl::Span<const TString> values = context.input(i).flat<TString>();
      return values[context.input(i).rank() == 0 ? 0 : at].view();
    };
    size_t size = 0;
    for (int i = 0; i < context.num_inputs(); ++i) size += part(i).size() + (i > 0 ? separator_.size() : 0);
    char* to = out->ResizeUninitialized(size);
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (i > 0) to += separator_.copy(to, separator_.size());
      const absl::string_view text = part(i);
      to += text.copy(to, text.size());
    }
  }

  const std::string separator_;
};

constexpr KernelRow kRows[] = {KernelRow("StringJoin", FromAttr<StringJoinKernel, std::string>("separator"))};

}  // namespace

absl::Span<const KernelRow> StringJoinKernels() { return kRows; }

}  // namespace sluice
