#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "kernels/control/summarize.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// Text under construction. Shapes have up to 254 dimensions, and the calls nest as deep.
class Summary {
 public:
  Summary(const Tensor& tensor, int64_t edge) : tensor_(tensor), edge_(edge) {}

  // The entries below `axis` that begin with element `first`.
  void AddEntries(int axis, int64_t first) {
    if (axis == tensor_.rank()) return AddElement(first);
    int64_t inner = 1;
    for (int i = axis + 1; i < tensor_.rank(); ++i) inner *= tensor_.dim(i);
    const int64_t count = tensor_.dim(axis);
    const int64_t tail = std::max(edge_, count - edge_);
    text_.push_back('[');
    for (int64_t i = 0; i < std::min(edge_, count); ++i) {
      if (i > 0) AddGap(axis);
      AddEntries(axis + 1, first + i * inner);
    }
    if (count > edge_ && count - edge_ > edge_) {
      AddGap(axis);
      text_.append("...");
    }
    for (int64_t i = tail; i < count; ++i) {
      AddGap(axis);
      AddEntries(axis + 1, first + i * inner);
    }
    text_.push_back(']');
  }
  std::string Take() { return std::move(text_); }

 private:
  void AddGap(int axis) {
    const int below = tensor_.rank() - axis - 1;
    text_.append(static_cast<size_t>(below), '\n');
    text_.append(below == 0 ? 1 : static_cast<size_t>(axis) + 1, ' ');
  }
  void AddElement(int64_t i) {
    if (tensor_.dtype() == DType::kString) {
      absl::StrAppend(&text_, "\"", absl::Utf8SafeCEscape(tensor_.flat<TString>()[static_cast<size_t>(i)].view()),
                      "\"");
    } else {
      AppendElement(tensor_, i, &text_);
    }
  }

  const Tensor& tensor_;
  const int64_t edge_;
  std::string text_;
};

// The elements as StringFormat shows them: each dimension in brackets, strings in quotes, of more than
// 2 * `edge` entries of a dimension the first and the last `edge` with "..." between. All where `edge` is negative.
std::string SummarizeNested(const Tensor& tensor, int64_t edge) {
  const int64_t count = tensor.num_elements();
  // As in TensorFlow, which shows nothing if no bool would be shown.
  if (tensor.dtype() == DType::kBool && (edge == 0 || count == 0)) return "";
  Summary summary(tensor, edge < 0 ? count : std::min(edge, count));
  if (tensor.rank() == 0) {
    if (edge != 0) summary.AddEntries(0, 0);
    return edge == 0 ? "..." : summary.Take();
  }
  summary.AddEntries(0, 0);
  return summary.Take();
}

// Puts texts of the inputs in the places of a template.
class StringFormatKernel : public Kernel {
 public:
  StringFormatKernel(std::string text, std::string placeholder, int64_t summarize)
      : template_(std::move(text)), placeholder_(std::move(placeholder)), summarize_(summarize) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, construction.Get<std::string>("template"));
    SLUICE_ASSIGN_OR_RETURN(std::string placeholder, construction.Get<std::string>("placeholder"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t summarize, construction.Get<int64_t>("summarize"));
    const int places = CountPlaces(text, placeholder);
    if (places != construction.num_inputs()) {
      return AttrError("template", absl::StrCat(places, " placeholders"),
                       absl::StrCat("one for each of ", construction.num_inputs(), " inputs"));
    }
    return std::make_unique<StringFormatKernel>(std::move(text), std::move(placeholder), summarize);
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, Bound(context)));
    std::string text;
    size_t begin = 0;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const size_t place = placeholder_.empty() ? begin + 1 : template_.find(placeholder_, begin);
      text.append(template_, begin, place - begin);
      text.append(SummarizeNested(context.input(i), summarize_));
      if (static_cast<int64_t>(text.size()) > kMaxTextBytes) break;
      begin = place + placeholder_.size();
    }
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, static_cast<int64_t>(text.size())));
    text.append(template_, begin, std::string::npos);
    context.SetOutput(0, Tensor::String(text));
    return absl::OkStatus();
  }

 private:
  // An empty placeholder stands between each two characters.
  static int CountPlaces(const std::string& text, const std::string& placeholder) {
    if (placeholder.empty()) return text.empty() ? 0 : static_cast<int>(text.size()) - 1;
    int count = 0;
    for (size_t at = text.find(placeholder); at != std::string::npos;
         at = text.find(placeholder, at + placeholder.size())) {
      ++count;
    }
    return count;
  }

  // A guess at the bytes of the result that is not far too small where it matters: a number takes about two bytes at
  // the least, a string its own, and where elements are left out their number is that of the entries shown.
  int64_t Bound(const KernelContext& context) const {
    int64_t bytes = static_cast<int64_t>(template_.size());
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor& input = context.input(i);
      double shown = 1;
      for (const int64_t size : input.shape().dims()) {
        const double most = summarize_ < 0 ? static_cast<double>(size) : 2.0 * static_cast<double>(summarize_) + 1;
        shown *= std::min(static_cast<double>(size), most);
      }
      bytes += static_cast<int64_t>(std::min(2 * shown, static_cast<double>(kMaxTextBytes)));
    }
    return bytes;
  }

  const std::string template_, placeholder_;
  const int64_t summarize_;
};

constexpr KernelRow kRows[] = {
    KernelRow("StringFormat", &New<StringFormatKernel>),
};

}  // namespace

absl::Span<const KernelRow> StringFormatKernels() { return kRows; }

}  // namespace sluice
