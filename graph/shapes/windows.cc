#include "graph/shapes/windows.h"

#include "absl/strings/str_cat.h"

namespace sluice {

bool ReadLayout(const InferenceContext& c, int rank, ImageLayout* layout) {
  const absl::string_view format = c.String("data_format", "NHWC");
  layout->rank = rank;
  if (format == "NHWC" || format == "NDHWC") {
    layout->channel = rank - 1;
    layout->first_space = 1;
    return true;
  }
  if (format == "NCHW" || format == "NCDHW") {
    layout->channel = 1;
    layout->first_space = 2;
    return true;
  }
  return false;
}

int64_t WindowedSize(int64_t size, int64_t window, int64_t dilation, int64_t stride, absl::string_view padding,
                     int64_t both_paddings, bool* negative) {
  if (size < 0 || stride <= 0) return kUnknownDim;
  if (padding == "SAME") return size / stride + (size % stride != 0 ? 1 : 0);
  if (window < 0) return kUnknownDim;
  const int64_t reach = AddDims(MulDims(window - 1, dilation), 1);
  const int64_t padded = AddDims(AddDims(size, both_paddings), stride);
  if ((reach < 0 && window > 0) || padded < 0) return kUnknownDim;
  const int64_t result = (padded - (window > 0 ? reach : 1 - dilation)) / stride;
  if (result >= 0) return result;
  *negative = true;
  return kUnknownDim;
}

absl::Status ReadWindowAttr(const InferenceContext& c, absl::string_view name, int length, bool optional,
                            std::vector<int64_t>* values) {
  *values = c.Ints(name);
  if (values->empty() && optional) values->assign(static_cast<size_t>(length), 1);
  if (static_cast<int>(values->size()) != length) {
    return c.AttrError(name, absl::StrCat("found ", values->size(), " entries, expected ", length));
  }
  for (const int64_t value : *values) {
    if (value <= 0) return c.AttrError(name, absl::StrCat("found ", value, ", expected 1 or more"));
  }
  return absl::OkStatus();
}

absl::Status ReadExplicitPaddings(const InferenceContext& c, int rank, std::vector<int64_t>* sums) {
  const std::vector<int64_t> paddings = c.Ints("explicit_paddings");
  sums->assign(static_cast<size_t>(rank), 0);
  const size_t wanted = c.String("padding") == "EXPLICIT" ? 2 * sums->size() : 0;
  if (paddings.size() != wanted) {
    return c.AttrError("explicit_paddings", absl::StrCat("found ", paddings.size(), " entries, expected ", wanted,
                                                         " for padding ", c.String("padding")));
  }
  for (size_t i = 0; i < paddings.size(); ++i) {
    if (paddings[i] < 0) return c.AttrError("explicit_paddings", absl::StrCat("found ", paddings[i]));
    (*sums)[i / 2] = AddDims((*sums)[i / 2], paddings[i]);
  }
  return absl::OkStatus();
}

}  // namespace sluice
