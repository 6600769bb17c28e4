#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// The attrs.
struct NGramOptions {
  std::string separator, left_pad, right_pad;
  std::vector<int64_t> widths;
  int64_t pad_width = 0;
  bool preserve_short = false;
};

absl::StatusOr<NGramOptions> ReadOptions(const KernelConstruction& construction) {
  NGramOptions options;
  SLUICE_ASSIGN_OR_RETURN(options.separator, construction.Get<std::string>("separator"));
  SLUICE_ASSIGN_OR_RETURN(options.left_pad, construction.Get<std::string>("left_pad"));
  SLUICE_ASSIGN_OR_RETURN(options.right_pad, construction.Get<std::string>("right_pad"));
  SLUICE_ASSIGN_OR_RETURN(options.widths, construction.Get<std::vector<int64_t>>("ngram_widths"));
  SLUICE_ASSIGN_OR_RETURN(options.pad_width, construction.Get<int64_t>("pad_width"));
  SLUICE_ASSIGN_OR_RETURN(options.preserve_short, construction.Get<bool>("preserve_short_sequences"));
  for (const int64_t width : options.widths) {
    if (width > 0) continue;
    return AttrError("ngram_widths", width, "1 or more");
  }
  return options;
}

// N-grams of one sequence: `count` n-grams of `width` tokens; the first begins `pad` tokens before the sequence.
struct NGrams {
  int64_t count = 0;
  int64_t width = 0;
  int64_t pad = 0;
};

// The n-grams of a sequence of `length` tokens, in order.
void PlanSequence(const NGramOptions& options, int64_t length, std::vector<NGrams>* plan) {
  plan->clear();
  bool has_any = false;
  for (const int64_t width : options.widths) {
    const int64_t pad = options.pad_width < 0 ? width - 1 : std::min(options.pad_width, width - 1);
    // Pads and widths are attrs of any size; `pad` is below `width`, so only the last addition can overflow. A number
    // that overflows is refused when all are counted.
    int64_t count = 0;
    if (!CheckedAdd(length + (pad - width) + 1, pad, &count)) count = std::numeric_limits<int64_t>::max();
    count = std::max<int64_t>(count, 0);
    has_any |= count > 0;
    plan->push_back({count, width, pad});
  }
  if (has_any || !options.preserve_short || length == 0) return;
  // The sequence as a whole, with as many pads as the attr says.
  const int64_t pad = std::max<int64_t>(options.pad_width, 0);
  int64_t width = 0;
  const bool fits = CheckedAdd(length, pad, &width) && CheckedAdd(width, pad, &width);
  plan->push_back({1, fits ? width : std::numeric_limits<int64_t>::max(), pad});
}

// How many tokens all n-grams of a call may have together: beyond it, widths or pads are not meant so.
constexpr int64_t kMaxTokens = int64_t{1} << 32;

// What the n-grams of a call come to.
struct NGramTotal {
  int64_t grams = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
};

// Bytes of n-gram `index` of a sequence; `sizes` are the bytes before each of its tokens, and after the last.
int64_t BytesOf(const NGramOptions& options, const NGrams& grams, int64_t index, absl::Span<const int64_t> sizes) {
  const int64_t length = static_cast<int64_t>(sizes.size()) - 1;
  const int64_t begin = std::clamp<int64_t>(index - grams.pad, 0, length);
  const int64_t end = std::clamp<int64_t>(index - grams.pad + grams.width, 0, length);
  const int64_t left = std::clamp<int64_t>(grams.pad - index, 0, grams.width);
  const int64_t right = grams.width - left - (end - begin);
  const auto size = [](const std::string& text) { return static_cast<int64_t>(text.size()); };
  return sizes[static_cast<size_t>(end)] - sizes[static_cast<size_t>(begin)] + left * size(options.left_pad) +
         right * size(options.right_pad) + (grams.width - 1) * size(options.separator);
}

// Makes the n-grams of sequences of tokens, which splits tell apart.
class StringNGramsKernel : public Kernel {
 public:
  explicit StringNGramsKernel(NGramOptions options) : options_(std::move(options)) {}
  absl::Status Compute(KernelContext& context) const override;

 private:
  absl::Status CheckSplits(const KernelContext& context) const;
  // Counts the n-grams before each split, and refuses what would be too much.
  absl::Status Count(const KernelContext& context, std::vector<int64_t>* ends) const;
  void Make(absl::Span<const TString> tokens, const NGrams& grams, int64_t index, std::string* text) const;

  const NGramOptions options_;
};

absl::Status StringNGramsKernel::CheckSplits(const KernelContext& context) const {
  const Tensor& splits = context.input(1);
  const int64_t size = context.input(0).num_elements();
  int64_t before = 0;
  for (int64_t i = 0; i < splits.num_elements(); ++i) {
    const int64_t split = IndexAt(splits, i);
    const bool is_last = i + 1 == splits.num_elements();
    if (split >= before && split <= size && (i > 0 || split == 0) && (!is_last || split == size)) {
      before = split;
      continue;
    }
    return ValueError(1, "data_splits", absl::StrCat(split, " as element ", i),
                      absl::StrCat("numbers from 0 to the ", size, " strings of data, ascending"));
  }
  const bool has_sequences = size > 0 && splits.num_elements() > 0;
  if (has_sequences && options_.widths.empty() && options_.preserve_short && options_.pad_width < 0) {
    return AttrError("pad_width", options_.pad_width,
                     "0 or more where short sequences are kept and there are no ngram_widths");
  }
  return absl::OkStatus();
}

absl::Status StringNGramsKernel::Count(const KernelContext& context, std::vector<int64_t>* ends) const {
  const Tensor& splits = context.input(1);
  std::vector<int64_t> sizes = {0};
  for (const TString& token : context.input(0).flat<TString>()) {
    sizes.push_back(sizes.back() + static_cast<int64_t>(token.size()));
  }
  NGramTotal total;
  std::vector<NGrams> plan;
  ends->push_back(0);
  for (int64_t i = 1; i < splits.num_elements(); ++i) {
    const int64_t first = IndexAt(splits, i - 1), length = IndexAt(splits, i) - first;
    const auto own = absl::MakeConstSpan(sizes).subspan(static_cast<size_t>(first), static_cast<size_t>(length) + 1);
    PlanSequence(options_, length, &plan);
    for (const NGrams& grams : plan) {
      int64_t tokens = 0;
      if (!CheckedMul(grams.count, grams.width, &tokens) || tokens > kMaxTokens - total.tokens) {
        return Error(ErrorCode::kOutOfMemory)
            .Found(absl::StrCat(grams.count, " n-grams of ", grams.width, " tokens, of a sequence of ", length))
            .Expected(absl::StrCat("at most ", kMaxTokens, " tokens in all"));
      }
      total.tokens += tokens;
      total.grams += grams.count;
      for (int64_t index = 0; index < grams.count && total.bytes <= kMaxTextBytes; ++index) {
        total.bytes += BytesOf(options_, grams, index, own);
      }
    }
    ends->push_back(total.grams);
  }
  if (splits.dtype() == DType::kInt32 && total.grams > std::numeric_limits<int32_t>::max()) {
    return ValueError(absl::StrCat(total.grams, " n-grams"), "as many as an int32 can count");
  }
  return CheckTextMemory(context, total.bytes);
}

void StringNGramsKernel::Make(absl::Span<const TString> tokens, const NGrams& grams, int64_t index,
                              std::string* text) const {
  text->clear();
  const int64_t length = static_cast<int64_t>(tokens.size());
  for (int64_t i = 0; i < grams.width; ++i) {
    if (i > 0) text->append(options_.separator);
    const int64_t at = index - grams.pad + i;
    if (at < 0) {
      text->append(options_.left_pad);
    } else if (at >= length) {
      text->append(options_.right_pad);
    } else {
      text->append(tokens[static_cast<size_t>(at)].data(), tokens[static_cast<size_t>(at)].size());
    }
  }
}

absl::Status StringNGramsKernel::Compute(KernelContext& context) const {
  const Tensor& splits = context.input(1);
  const absl::Span<const TString> data = context.input(0).flat<TString>();
  SLUICE_RETURN_IF_ERROR(CheckSplits(context));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out_splits, context.AllocateOutput(1, splits.shape()));
  const int64_t num_splits = splits.num_elements();
  if (data.empty() || num_splits == 0) {
    // As in TensorFlow: as many empty strings as there are data, whatever the splits.
    for (int64_t i = 0; i < num_splits; ++i) SetIndexAt(*out_splits, i, 0);
    return context.AllocateOutput(0, context.input(0).shape()).status();
  }
  std::vector<int64_t> ends;
  SLUICE_RETURN_IF_ERROR(Count(context, &ends));
  for (int64_t i = 0; i < num_splits; ++i) SetIndexAt(*out_splits, i, ends[static_cast<size_t>(i)]);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({ends.back()}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  const absl::Span<TString> to = output->flat<TString>();
  const int64_t sequences = num_splits - 1;
  const double unit_ns =
      60.0 * static_cast<double>(ends.back() + 1) / static_cast<double>(std::max<int64_t>(sequences, 1));
  return ForStrings(context, sequences, unit_ns, [&](int64_t begin, int64_t end) {
    std::vector<NGrams> plan;
    std::string text;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = IndexAt(splits, i), length = IndexAt(splits, i + 1) - first;
      const auto tokens = data.subspan(static_cast<size_t>(first), static_cast<size_t>(length));
      PlanSequence(options_, length, &plan);
      size_t at = static_cast<size_t>(ends[static_cast<size_t>(i)]);
      for (const NGrams& grams : plan) {
        for (int64_t index = 0; index < grams.count; ++index) {
          Make(tokens, grams, index, &text);
          to[at++].assign(text);
        }
      }
    }
    return absl::OkStatus();
  });
}

constexpr KernelRow kRows[] = {
    KernelRow("StringNGrams", &NewWith<StringNGramsKernel, &ReadOptions>).Types("Tsplits", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> StringNGramsKernels() { return kRows; }

}  // namespace sluice
