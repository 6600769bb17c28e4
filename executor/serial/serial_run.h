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

// Runs `program` on this thread. The arguments lie in `registers` (program.num_registers() of them), which are left to
// be cleared by the caller. `results` (one per result of the program) get the values; one that was not computed, since
// it is dead, stays as it is. The first error ends the run: of a node, or kRunCancelled, or kDeadline.
absl::Status RunSerialProgram(const SerialProgram& program, Entry* registers, const RunContext& context,
                              absl::Span<Tensor> results);

// The same for a node that calls `program`, the body of a function: arguments are the inputs of `call`, results its
// outputs. See Note [Called bodies].
absl::Status RunSerialCall(const SerialProgram& program, Entry* registers, KernelContext& call);

// The run that a segment is part of.
class SegmentOwner {
 public:
  // Begins the call of a kStart, whose inputs are there. May throw: then it has not begun.
  virtual void StartCall(const SerialInstruction& instruction) = 0;

 protected:
  ~SegmentOwner() = default;
};

// Runs segment `segment` of a program that has some, like a program: once for each run, after all that precede it.
// `registers` are empty but for the arguments of segment 0, and hold nothing for others afterwards; `kept` lasts for
// the run.
absl::Status RunSerialSegment(const SerialProgram& program, int32_t segment, Entry* registers, Entry* kept,
                              const RunContext& context, absl::Span<Tensor> results, SegmentOwner* owner);

// Registers for runs of one program, kept for the next run. Thread-safe.
class RegisterPool {
 public:
  // `shared`: see KeptPool.
  explicit RegisterPool(int32_t num_registers, std::shared_ptr<KeptBytes> shared = nullptr)
      : num_registers_(static_cast<size_t>(num_registers)), kept_(kMaxKept, std::move(shared)) {}

  // Empty ones.
  std::unique_ptr<Entry[]> Take();
  // Frees what is left in them, and keeps them.
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
