#include "kernels/parsing/list_outputs.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

size_t CountOf(const FeatureValues& list) { return list.ends.empty() ? 0 : list.ends.back(); }

}  // namespace

ListTotal TotalOf(FeatureLists lists) {
  ListTotal total;
  for (const FeatureValues* const list : lists) {
    size_t before = 0;
    for (const size_t end : list->ends) {
      total.longest = std::max(total.longest, end - before);
      before = end;
    }
    total.count += before;
    total.entries += list->ends.size();
  }
  return total;
}

absl::Status SetValuesOutput(KernelContext& context, FeatureLists lists, int output) {
  const int64_t count = static_cast<int64_t>(TotalOf(lists).count);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(output, Shape::Of({count})));
  size_t written = 0;
  for (const FeatureValues* const list : lists) {
    CopyValues(*list, values, written);
    written += CountOf(*list);
  }
  return absl::OkStatus();
}

absl::Status SetSplitsOutput(KernelContext& context, FeatureLists lists, int output) {
  const ListTotal total = TotalOf(lists);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const splits,
                          context.AllocateOutput(output, Shape::Of({static_cast<int64_t>(total.entries) + 1})));
  const bool is_int32 = splits->dtype() == DType::kInt32;
  if (is_int32 && total.count > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return ValueError(absl::StrCat(total.count, " values"), "as many as int32 counts");
  }
  size_t written = 0, row = 0;
  const auto set = [&](size_t value) {
    if (is_int32) {
      splits->flat<int32_t>()[row++] = static_cast<int32_t>(value);
    } else {
      splits->flat<int64_t>()[row++] = static_cast<int64_t>(value);
    }
  };
  set(0);
  for (const FeatureValues* const list : lists) {
    for (const size_t end : list->ends) set(written + end);
    written += CountOf(*list);
  }
  return absl::OkStatus();
}

absl::Status SetSplitsOrZero(KernelContext& context, FeatureLists lists, bool has_batch, int output) {
  if (has_batch) return SetSplitsOutput(context, lists, output);
  if (context.output_type(output) == DType::kInt32) {
    context.SetScalar<int32_t>(output, 0);
  } else {
    context.SetScalar<int64_t>(output, 0);
  }
  return absl::OkStatus();
}

absl::Status SetSparseOutputs(KernelContext& context, FeatureLists lists, bool has_batch,
                              const SparseOutputs& outputs) {
  const ListTotal total = TotalOf(lists);
  const int64_t rank = has_batch ? 2 : 1;
  SLUICE_RETURN_IF_ERROR(SetValuesOutput(context, lists, outputs.values));
  SLUICE_ASSIGN_OR_RETURN(
      Tensor* const indices,
      context.AllocateOutput(outputs.indices, Shape::Of({static_cast<int64_t>(total.count), rank})));
  int64_t* index = indices->flat<int64_t>().data();
  int64_t row = 0;
  for (const FeatureValues* const list : lists) {
    size_t before = 0;
    for (const size_t end : list->ends) {
      for (size_t i = 0; i < end - before; ++i) {
        if (has_batch) *index++ = row;
        *index++ = static_cast<int64_t>(i);
      }
      before = end;
      ++row;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const shape, context.AllocateOutput(outputs.shape, Shape::Of({rank})));
  if (has_batch) shape->flat<int64_t>()[0] = row;
  shape->flat<int64_t>().back() = static_cast<int64_t>(total.longest);
  return absl::OkStatus();
}

}  // namespace sluice
