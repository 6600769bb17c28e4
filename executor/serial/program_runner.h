#ifndef SLUICE_EXECUTOR_SERIAL_PROGRAM_RUNNER_H_
#define SLUICE_EXECUTOR_SERIAL_PROGRAM_RUNNER_H_

// The loop over the instructions of a program. For serial_run.cc and segment_run.cc alone: each makes it in its own
// form, so that the compiler inlines the one as if the other were not there.

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "executor/flush_denormals.h"
#include "executor/node_error.h"
#include "executor/serial/serial_program.h"
#include "executor/serial/serial_run.h"
#include "executor/thread_runs.h"
#include "executor/trace/node_observer.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/value/ref_cell.h"
#include "kernels/run_context.h"
#include "rendezvous/frame_hash.h"

namespace sluice {

// Handing what is deferred to another thread takes about this long.
constexpr int64_t kHandOverNs = 2'000;

// While a program runs, what its thread sets free goes to other threads at once (Note [Deferred runs]).
using ProgramScope = ThreadRuns::HandOverScope;
// Segments are short, and what they set free is often what they wait for: it goes elsewhere before a long kernel only.
struct SegmentScope {
  SegmentScope() {}
};

// One run. `kWatched` runs look at the clock and have an observer, `kSegment` ones are a part of a program; the others
// pay for neither.
template <bool kWatched, bool kSegment = false>
class ProgramRunner {
 public:
  // `kept` and `owner` are null but for segments.
  ProgramRunner(const SerialProgram& program, Entry* registers, const RunContext& run, absl::Span<Tensor> results,
                Entry* kept = nullptr, SegmentOwner* owner = nullptr)
      : program_(program),
        run_(run),
        results_(results),
        owner_(owner),
        cancellation_(run.cancellation),
        context_(run, Tables(program, registers, kept)) {
    // The clock is looked at before the first node.
    if (kWatched && run_.deadline != absl::InfiniteFuture()) until_check_ns_ = 0;
  }

  // The instructions from `at` on, which leave this stretch only at its end.
  ABSL_ATTRIBUTE_ALWAYS_INLINE absl::Status Run(const SerialInstruction* at, const SerialInstruction* const end) {
    const std::conditional_t<kSegment, SegmentScope, ProgramScope> scope;
    const FlushDenormals flush;
    const SerialInstruction* const begin = program_.instructions().data();
    try {
      absl::Status status;
      while (at != end && Step(*at, &at, begin, &status)) {
      }
      return status.ok() ? status : AtNode(program_.graph(), NodeId(failed_), status);
    } catch (const KernelCancelled&) {
      absl::Status status;
      if (cancellation_ == nullptr || !cancellation_->IsCancelling()) return DeadlinePassed();
      Stopped(&status);
      return status;
    } catch (...) {
      return StatusOfException(program_.graph(), NodeId((at - 1)->io.id));
    }
  }

 private:
  // Reading the clock takes longer than most nodes.
  static constexpr int64_t kCheckEveryNs = 16'000;
  static constexpr int64_t kNsOfRepeat = 4;
  // One iteration of one live frame, as kernels see it.
  struct Place {
    uint64_t frame_id;
    int64_t iteration;
  };

  static EntryTables Tables(const SerialProgram& program, Entry* registers, Entry* kept) {
    EntryTables tables;
    tables.table[static_cast<size_t>(kKeptTable)] = kept;
    tables.table[static_cast<size_t>(Operand::Table::kSlots)] = registers;
    tables.table[static_cast<size_t>(Operand::Table::kConstants)] = program.constants();
    return tables;
  }

  Entry& at(Operand operand) { return context_.tables().at(operand); }

  // Does one instruction and moves `*next` on. False at an error.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Step(const SerialInstruction& instruction, const SerialInstruction** next,
                                         const SerialInstruction* begin, absl::Status* status) {
    ++*next;
    switch (instruction.action) {
      case SerialAction::kCompute:
        if (ABSL_PREDICT_TRUE(Compute(instruction, status))) return true;
        return false;
      case SerialAction::kMove:
        at(instruction.destination).MoveFrom(at(instruction.source));
        return true;
      case SerialAction::kCopy:
        at(instruction.destination).CopyFrom(at(instruction.source));
        return true;
      case SerialAction::kDereference:
        *status = Dereference(instruction);
        break;
      case SerialAction::kIndex:
        at(instruction.destination).SetScalar(instruction.number);
        return true;
      case SerialAction::kBranch: {
        bool taken = false;
        *status = Decide(instruction, &taken);
        if (!taken) *next = begin + instruction.target;
        break;
      }
      case SerialAction::kNeedValue:
        if (ABSL_PREDICT_FALSE(!at(instruction.source).ref()->Read().has_value())) {
          *status = UninitializedInput(instruction.number);
        }
        break;
      case SerialAction::kEnterLoop:
        EnterLoop(instruction.number);
        return true;
      case SerialAction::kLeaveLoop:
        LeaveLoop();
        return true;
      case SerialAction::kRepeat:
        *next = begin + instruction.target;
        context_.SetPlace(context_.frame_id(), context_.iteration() + 1);
        if (kWatched) until_check_ns_ -= kNsOfRepeat;  // A loop may have no kernel in it.
        if (ABSL_PREDICT_FALSE(MustStop(status))) break;
        return true;
      case SerialAction::kReturn:
        results_[static_cast<size_t>(instruction.number)] = at(instruction.source).value();
        return true;
      case SerialAction::kReturnMove:
        results_[static_cast<size_t>(instruction.number)] = std::move(at(instruction.source).value());
        return true;
      case SerialAction::kClear:
        at(instruction.destination).Clear();
        return true;
      case SerialAction::kStart:
        return !kSegment || Start(instruction, status);
    }
    if (ABSL_PREDICT_TRUE(status->ok())) return true;
    failed_ = instruction.io.id;
    return false;
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Compute(const SerialInstruction& instruction, absl::Status* status) {
    if (ABSL_PREDICT_FALSE(MustStop(status))) return Fail(-1);
    if (kSegment && ABSL_PREDICT_FALSE(ThreadRuns::Current().has_deferred()) && GuessNs(instruction) >= kHandOverNs) {
      ThreadRuns::Current().HandOver();
    }
    const NodeIo& io = instruction.io;
    const Operand* const outputs = io.operands + io.num_inputs;
    const Operand* const outputs_end = outputs + io.num_outputs;
    for (const Operand* output = outputs; output != outputs_end; ++output) at(*output).MarkEmpty();
    context_.SetNode(io);
    const int64_t start = kWatched ? NodeObserver::Begin(run_.observer, NodeId(io.id)) : 0;
    {
      absl::Status computed = instruction.kernel->Compute(context_);
      if (ABSL_PREDICT_FALSE(!computed.ok())) {
        if (kWatched) NodeObserver::Fail(run_.observer, NodeId(io.id), start);
        *status = std::move(computed);
        return Fail(io.id);
      }
    }
    if (kWatched && run_.observer != nullptr) {
      run_.observer->OnNode(NodeId(io.id), start, NodeObserver::NowNs(), context_);
    }
    if (kWatched) until_check_ns_ -= GuessNs(instruction);
    for (const Operand* output = outputs; output != outputs_end; ++output) {
      const Entry& entry = at(*output);
      const DType declared = io.output_types[output - outputs];
      if (ABSL_PREDICT_TRUE(entry.has_value() && entry.value().dtype() == declared)) continue;
      const uint32_t i = static_cast<uint32_t>(output - outputs);
      *status = CheckOutput(i, entry, declared, entry.is_dead() && program_.IsRead(io, i));
      if (!status->ok()) return Fail(io.id);
    }
    if (!instruction.has_last_uses) return true;
    for (const Operand* operand = io.operands; operand != outputs; ++operand) {
      if (operand->is_last_use() && ABSL_PREDICT_FALSE(at(*operand).holds_buffer())) at(*operand).Clear();
    }
    return true;
  }

  bool Start(const SerialInstruction& instruction, absl::Status* status) {
    if (ABSL_PREDICT_FALSE(MustStop(status))) return Fail(-1);
    owner_->StartCall(instruction);
    return true;
  }

  bool Fail(int32_t node) {
    failed_ = node;
    return false;
  }

  // The nodes that follow run in iteration 0 of static frame `frame`.
  void EnterLoop(int32_t frame) {
    const uint64_t around = context_.frame_id();
    const int64_t iteration = context_.iteration();
    around_.push_back({around, iteration});
    context_.SetPlace(ChildFrameNumber(around, iteration, program_.frame_name_hash(frame)), 0);
  }
  void LeaveLoop() {
    context_.SetPlace(around_.back().frame_id, around_.back().iteration);
    around_.pop_back();
  }

  // About how long the node that has just run took, if it is quick for its kind and size.
  int64_t GuessNs(const SerialInstruction& instruction) {
    constexpr int64_t kNsOfCheap = 4, kNsOfOther = 16, kBytesPerNs = 4;
    if (instruction.cost_hint == CostHint::kCheap) return kNsOfCheap;
    if (instruction.cost_hint == CostHint::kHeavy) return kCheckEveryNs;
    int64_t bytes = 0;
    const NodeIo& io = instruction.io;
    for (uint32_t i = 0; i < io.num_inputs + io.num_outputs; ++i) {
      const Entry& entry = at(io.operands[i]);
      if (entry.has_value() && entry.holds_buffer()) bytes += static_cast<int64_t>(entry.value().total_bytes());
    }
    return kNsOfOther + bytes / kBytesPerNs;
  }

  ABSL_ATTRIBUTE_NOINLINE absl::Status Dereference(const SerialInstruction& instruction) {
    Tensor value = at(instruction.source).ref()->Read();
    if (!value.has_value() && !program_.graph().op(NodeId(instruction.io.id)).allows_uninitialized_input) {
      return UninitializedInput(instruction.number);
    }
    at(instruction.destination).SetValue(std::move(value));
    return absl::OkStatus();
  }

  absl::Status Decide(const SerialInstruction& instruction, bool* taken) {
    const Tensor& value = at(instruction.source).value();
    if (ABSL_PREDICT_TRUE(value.dtype() == DType::kBool && value.rank() == 0)) {
      *taken = value.flat<bool>()[0] == (instruction.number == 1);
      return absl::OkStatus();
    }
    if (value.rank() != 0 || value.dtype() != DType::kInt32) {
      return Error(ErrorCode::kOpShape)
          .Input(1)
          .Found(value.shape().ToString())
          .Expected("a scalar")
          .Text("must be a scalar");
    }
    // Beyond the ends, the last port is taken.
    const int32_t port = value.flat<int32_t>()[0];
    const int32_t last = instruction.num_ports - 1;
    *taken = instruction.number == (port < 0 || port > last ? last : port);
    return absl::OkStatus();
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE bool MustStop(absl::Status* status) {
    if (ABSL_PREDICT_FALSE(cancellation_ != nullptr && cancellation_->IsCancelling())) return Stopped(status);
    return kWatched && ABSL_PREDICT_FALSE(until_check_ns_ <= 0) && IsLate(status);
  }

  ABSL_ATTRIBUTE_NOINLINE bool Stopped(absl::Status* status) const {
    *status = cancellation_->status();
    if (status->ok()) *status = Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
    return true;
  }

  ABSL_ATTRIBUTE_NOINLINE bool IsLate(absl::Status* status) {
    until_check_ns_ = kCheckEveryNs;
    if (absl::Now() <= run_.deadline) return false;
    *status = DeadlinePassed();
    return true;
  }

  const SerialProgram& program_;
  const RunContext& run_;
  const absl::Span<Tensor> results_;
  SegmentOwner* const owner_;
  const CancellationManager* const cancellation_;
  KernelContext context_;
  int32_t failed_ = -1;
  int64_t until_check_ns_ = std::numeric_limits<int64_t>::max();  // By GuessNs; then the clock is looked at.
  absl::InlinedVector<Place, 4> around_;                          // Iterations around the loops under way.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_PROGRAM_RUNNER_H_
