#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// The parts of all strings, those of string i before ends[i].
struct Parts {
  std::vector<absl::string_view> texts;
  std::vector<size_t> ends;
};

// The parts as a sparse matrix: indices, values, shape. Memory for two numbers and a string each.
absl::Status SetSparse(KernelContext& context, const Parts& parts) {
  const int64_t count = static_cast<int64_t>(parts.texts.size());
  int64_t widest = 0;
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, Shape::Of({count, 2})));
  int64_t* index = indices->flat<int64_t>().data();
  size_t begin = 0;
  for (size_t row = 0; row < parts.ends.size(); begin = parts.ends[row++]) {
    const int64_t width = static_cast<int64_t>(parts.ends[row] - begin);
    widest = std::max(widest, width);
    for (int64_t column = 0; column < width; ++column) {
      *index++ = static_cast<int64_t>(row);
      *index++ = column;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({count})));
  const absl::Span<TString> texts = values->flat<TString>();
  SLUICE_RETURN_IF_ERROR(ForStrings(context, count, 20, [&](int64_t first, int64_t last) {
    for (size_t i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) texts[i].assign(parts.texts[i]);
    return absl::OkStatus();
  }));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const shape, context.AllocateOutput(2, Shape::Of({2})));
  shape->flat<int64_t>()[0] = static_cast<int64_t>(parts.ends.size());
  shape->flat<int64_t>()[1] = widest;
  return absl::OkStatus();
}

absl::Status CheckInputs(const KernelContext& context, absl::string_view separator) {
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 0, "input"));
  return CheckScalar(context, 1, separator);
}

// --- StringSplit -------------------------------------------------------------------------------------------------

// Splits at each byte of `delimiters`; into single bytes if `delimiters` is empty.
void SplitAtBytes(absl::string_view text, absl::string_view delimiters, bool skip_empty,
                  std::vector<absl::string_view>* parts) {
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts->push_back(text.substr(i, 1));
    return;
  }
  if (text.empty()) return;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(delimiters, begin), text.size());
    if (end > begin || !skip_empty) parts->push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// The delimiters are bytes.
class StringSplitKernel : public Kernel {
 public:
  explicit StringSplitKernel(bool skip_empty) : skip_empty_(skip_empty) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckInputs(context, "delimiter"));
    const absl::string_view delimiters = context.input(1).flat<TString>()[0].view();
    Parts parts;
    for (const TString& text : context.input(0).flat<TString>()) {
      SplitAtBytes(text.view(), delimiters, skip_empty_, &parts.texts);
      parts.ends.push_back(parts.texts.size());
    }
    return SetSparse(context, parts);
  }

 private:
  const bool skip_empty_;
};

// --- StringSplitV2 -----------------------------------------------------------------------------------------------

// Splits at whitespace; after `max` words the rest is one more part, even if it is empty.
void SplitAtSpace(absl::string_view text, int64_t max, std::vector<absl::string_view>* parts) {
  text = absl::StripLeadingAsciiWhitespace(text);
  for (int64_t words = 0; !text.empty(); ++words) {
    const auto space = std::find_if(text.begin(), text.end(),
                                    [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); });
    const size_t size = static_cast<size_t>(space - text.begin());
    parts->push_back(text.substr(0, size));
    text = absl::StripLeadingAsciiWhitespace(text.substr(size));
    if (words + 1 == max) return parts->push_back(text);
  }
}

// As Python's str.split does: at runs of whitespace if the separator is empty, at most `max` times unless that is
// negative. A `max` of 0 leaves the text as it is.
void SplitAtText(absl::string_view text, absl::string_view separator, int64_t max,
                 std::vector<absl::string_view>* parts) {
  if (max == 0) {
    parts->push_back(text);
    return;
  }
  if (separator.empty()) return SplitAtSpace(text, max, parts);
  for (int64_t splits = 0; max < 0 || splits < max; ++splits) {
    const size_t size = text.find(separator);
    if (size == absl::string_view::npos) break;
    parts->push_back(text.substr(0, size));
    text.remove_prefix(size + separator.size());
  }
  parts->push_back(text);
}

// The separator is a text.
class StringSplitV2Kernel : public Kernel {
 public:
  explicit StringSplitV2Kernel(int64_t max) : max_(max) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckInputs(context, "sep"));
    const absl::string_view separator = context.input(1).flat<TString>()[0].view();
    Parts parts;
    for (const TString& text : context.input(0).flat<TString>()) {
      SplitAtText(text.view(), separator, max_, &parts.texts);
      parts.ends.push_back(parts.texts.size());
    }
    return SetSparse(context, parts);
  }

 private:
  const int64_t max_;
};

constexpr KernelRow kRows[] = {
    KernelRow("StringSplit", FromAttr<StringSplitKernel, bool>("skip_empty")),
    KernelRow("StringSplitV2", FromAttr<StringSplitV2Kernel, int64_t>("maxsplit")),
};

}  // namespace

absl::Span<const KernelRow> StringSplitKernels() { return kRows; }

}  // namespace sluice
