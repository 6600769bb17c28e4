#ifndef SLUICE_KERNELS_RNN_LSTM_SIZES_H_
#define SLUICE_KERNELS_RNN_LSTM_SIZES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"
#include "kernels/rnn/lstm_math.h"

namespace sluice {

// The sizes of one call of an LSTM. A value type.
struct LstmSizes {
  int64_t time = 1;
  int64_t batch = 0;
  int64_t inputs = 0;
  int64_t cells = 0;
  int64_t steps = 1;  // Those that are computed: at most `time`.

  int64_t state() const { return batch * cells; }  // Floats of the state of a step.
  int64_t gates() const { return 4 * cells; }
};

// Where the arguments of an LSTM begin: x, cs_prev, h_prev, w, wci, wcf, wco, b.
enum LstmInput { kX, kCsPrev, kHPrev, kW, kWci, kWcf, kWco, kB };

// For x, cs_prev, ... from input `first` on: a step, or a sequence whose length is input 0. kOpShape, kOpValue.
absl::StatusOr<LstmSizes> ResolveLstmCell(const KernelContext& context, bool has_peephole);
absl::StatusOr<LstmSizes> ResolveBlockLstm(const KernelContext& context);

// The form of an op whose name ends in V2, or of one that does not.
absl::StatusOr<LstmForm> ReadLstmForm(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RNN_LSTM_SIZES_H_
