#include "kernels/strings/summarize_nested.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
#include "kernels/control/summarize.h"

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

}  // namespace

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

}  // namespace sluice
