#ifndef SLUICE_KERNELS_SEQUENCE_DECODED_LABELS_H_
#define SLUICE_KERNELS_SEQUENCE_DECODED_LABELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/kernel_context.h"
#include "kernels/sequence/ctc_inputs.h"
#include "kernels/temp_array.h"

namespace sluice {

// The results of decoders: one or more paths for each sequence of a batch; a path has at most one label per step. Each
// path is one thread's while it is filled.
class DecodedLabels {
 public:
  // kOutOfMemory.
  static absl::StatusOr<DecodedLabels> Make(KernelContext& context, const CtcInputs& inputs, int64_t paths);

  // Room for the labels of a path, and their number.
  int64_t* labels(int64_t path, int64_t sequence) { return &labels_[(path * batch_ + sequence) * time_]; }
  int64_t& count(int64_t path, int64_t sequence) { return counts_[path * batch_ + sequence]; }

  // Puts each path of all sequences into a sparse matrix: indices into outputs 0, 1, ..., then values, then shapes.
  absl::Status SetOutputs(KernelContext& context) const;

 private:
  // Outputs of one path.
  absl::Status SetPath(KernelContext& context, int64_t path) const;

  int64_t time_ = 0;
  int64_t batch_ = 0;
  int64_t paths_ = 0;
  TempArray<int64_t> labels_;
  TempArray<int64_t> counts_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_SEQUENCE_DECODED_LABELS_H_
