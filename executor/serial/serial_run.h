#ifndef SLUICE_EXECUTOR_SERIAL_SERIAL_RUN_H_
#define SLUICE_EXECUTOR_SERIAL_SERIAL_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/serial/serial_program.h"
#include "executor/threads/kept_pool.h"
#include "kernels/kernel_context.h"
#include "kernels/run_context.h"

namespace sluice {

// Runs `program` on this thread. The arguments are in `registers` (program.num_registers() of them), which the caller
// must clear afterwards. Writes the values to `results`, one per result of the program; leaves dead results unchanged.
// Stops at the first error and returns it: a node's, kRunCancelled or kDeadline.
absl::Status RunSerialProgram(const SerialProgram& program, Entry* registers, const RunContext& context,
                              absl::Span<Tensor> results);

// The same for a node that calls `program`, the body of a function: arguments are the inputs of `call`, results its
// outputs. See Note [Called bodies].
absl::Status RunSerialCall(const SerialProgram& program, Entry* registers, KernelContext& call);

// The run of which a segment is a part.
class SegmentOwner {
 public:
  // Begins the call of a kStart, whose inputs are available. If it throws, the call has not begun.
  virtual void StartCall(const SerialInstruction& instruction) = 0;

 protected:
  ~SegmentOwner() = default;
};

// Runs one segment of a program as RunSerialProgram runs a program. REQUIRES: once per run, after all segments that
// precede it. `registers` are empty but for the arguments of segment 0, and hold nothing for others afterwards; `kept`
// lasts for the run.
absl::Status RunSerialSegment(const SerialProgram& program, int32_t segment, Entry* registers, Entry* kept,
                              const RunContext& context, absl::Span<Tensor> results, SegmentOwner* owner);

// Registers for runs of one program, kept for the next run. Thread-safe.
class RegisterPool {
 public:
  // `shared`: see KeptPool.
  explicit RegisterPool(int32_t num_registers, std::shared_ptr<KeptBytes> shared = nullptr)
      : num_registers_(static_cast<size_t>(num_registers)), kept_(kMaxKept, std::move(shared)) {}

  // Returns empty registers.
  std::unique_ptr<Entry[]> Take();
  // Clears `registers` and keeps them for reuse.
  void Put(std::unique_ptr<Entry[]> registers);
  // Frees those that are kept.
  void FreeKept() { kept_.Clear(); }
  // Frees what the first `count` of `registers` hold.
  static void Clear(Entry* registers, size_t count);
  // The memory that is kept; see KeptPool.
  size_t kept_bytes() const { return kept_.kept_bytes(); }

 private:
  static constexpr size_t kMaxKept = 64;

  const size_t num_registers_;
  KeptPool<std::unique_ptr<Entry[]>> kept_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_SERIAL_RUN_H_
