#ifndef SLUICE_EXECUTOR_TAPE_COMMON_OPS_H_
#define SLUICE_EXECUTOR_TAPE_COMMON_OPS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "executor/tape/eager_op.h"
#include "graph/base/mutex.h"

namespace sluice {

// Ops without attrs, on one or two inputs of one type, that formulas are made of.
enum class CommonOp : uint8_t {
  kAddV2,
  kSub,
  kMul,
  kRealDiv,
  kNeg,
  kPow,
  kMaximum,
  kMinimum,
  kExp,
  kLog,
  kSqrt,
  kSquare,
  kTanh,
  kSigmoid,
  kRelu,
  kSin,
  kCos,
  kAbs,
  kAssign,  // Var::Assign; see common_ops.cc.
};
inline constexpr size_t kNumCommonOps = 19;
absl::string_view CommonOpName(CommonOp op);

// These ops by type: found without a lock and without a key once they were called. Borrows `ops`. Thread-safe.
class CommonOps {
 public:
  explicit CommonOps(EagerOps& ops) : ops_(ops) {}
  CommonOps(const CommonOps&) = delete;
  CommonOps& operator=(const CommonOps&) = delete;
  ~CommonOps();

  // The op on `num_inputs` inputs of `type`. Errors as of EagerOps::Find. The pointer is valid as long as this.
  absl::StatusOr<const std::shared_ptr<const EagerOp>*> Find(CommonOp op, DType type, size_t num_inputs)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr size_t kNumTypes = 32;

  EagerOps& ops_;
  // Acquire and release: publishes the op.
  std::array<std::atomic<const std::shared_ptr<const EagerOp>*>, kNumCommonOps * kNumTypes> found_{};
  Mutex mu_;
  std::vector<std::unique_ptr<const std::shared_ptr<const EagerOp>>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_COMMON_OPS_H_
