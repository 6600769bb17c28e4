#include "kernels/sequence/decoded_labels.h"

#include <algorithm>

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<DecodedLabels> DecodedLabels::Make(KernelContext& context, const CtcInputs& inputs, int64_t paths) {
  DecodedLabels made;
  made.time_ = inputs.time;
  made.batch_ = inputs.batch;
  made.paths_ = paths;
  int64_t sequences = 0, labels = 0;
  if (!CheckedMul(paths, inputs.batch, &sequences) || !CheckedMul(sequences, inputs.time, &labels)) {
    return Error(ErrorCode::kOutOfMemory).Text("needs more labels than can be counted");
  }
  SLUICE_ASSIGN_OR_RETURN(made.labels_, TempArray<int64_t>::Make(context, labels));
  SLUICE_ASSIGN_OR_RETURN(made.counts_, TempArray<int64_t>::Make(context, sequences));
  return made;
}

absl::Status DecodedLabels::SetOutputs(KernelContext& context) const {
  for (int64_t path = 0; path < paths_; ++path) SLUICE_RETURN_IF_ERROR(SetPath(context, path));
  return absl::OkStatus();
}

absl::Status DecodedLabels::SetPath(KernelContext& context, int64_t path) const {
  const int64_t* const counts = counts_.data() + path * batch_;
  int64_t total = 0, longest = 0;
  for (int64_t b = 0; b < batch_; ++b) {
    total += counts[b];
    longest = std::max(longest, counts[b]);
  }
  const int first = static_cast<int>(path), paths = static_cast<int>(paths_);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(first, Shape::Of({total, 2})));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(paths + first, Shape::Of({total})));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const shape, context.AllocateOutput(2 * paths + first, Shape::Of({2})));
  int64_t* index = indices->flat<int64_t>().data();
  int64_t* value = values->flat<int64_t>().data();
  for (int64_t b = 0; b < batch_; ++b) {
    const int64_t* const labels = labels_.data() + (path * batch_ + b) * time_;
    for (int64_t i = 0; i < counts[b]; ++i) {
      *index++ = b;
      *index++ = i;
    }
    value = std::copy_n(labels, counts[b], value);
  }
  shape->flat<int64_t>()[0] = batch_;
  shape->flat<int64_t>()[1] = longest;
  return absl::OkStatus();
}

}  // namespace sluice
