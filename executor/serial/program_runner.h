#ifndef SLUICE_EXECUTOR_SERIAL_PROGRAM_RUNNER_H_
#define SLUICE_EXECUTOR_SERIAL_PROGRAM_RUNNER_H_

// The interpreter loop of serial programs. Include it only in serial_run.cc and segment_run.cc: each instantiates it
// once, so that the compiler inlines each loop separately.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "executor/kernel_call.h"
#include "executor/plan/called_body.h"
#include "executor/plan/node_error.h"
#include "executor/serial/call_stack.h"
#include "executor/serial/serial_program.h"
#include "executor/serial/serial_run.h"
#include "executor/threads/flush_denormals.h"
#include "executor/threads/thread_runs.h"
#include "executor/trace/node_observer.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/value/ref_cell.h"
#include "kernels/kernel_context.h"
#include "kernels/run_context.h"
#include "rendezvous/frame_hash.h"

namespace sluice {

// About how long it takes to hand a deferred run to another thread.
constexpr int64_t kHandOverNs = 2'000;

// While a program runs, runs that its thread makes ready go to other threads at once (Note [Deferred runs]).
using ProgramScope = ThreadRuns::HandOverScope;
// Segments are short and often wait for the runs that they make ready, so these go to other threads only before a long
// kernel.
struct SegmentScope {
  SegmentScope() {}
};

// Runs a program once. `kWatched` runs check the deadline and call an observer; `kSegment` runs execute one segment of
// a program, which calls no bodies. Other runs pay for neither.
template <bool kWatched, bool kSegment = false>
class ProgramRunner {
 public:
  // `kept` and `owner` are null but for segments. `call`: the node whose kernel this is for, where the program is a
  // body that the dataflow driver calls.
  ProgramRunner(const SerialProgram& program, Entry* registers, const RunContext& run, absl::Span<Tensor> results,
                Entry* kept = nullptr, SegmentOwner* owner = nullptr, const KernelContext* call = nullptr)
      : program_(&program),
        run_(run),
        results_(results),
        owner_(owner),
        cancellation_(run.cancellation),
        context_(run, Tables(program, registers, kept)) {
    // The clock is looked at before the first node.
    if (kWatched && run_.deadline != absl::InfiniteFuture()) until_check_ns_ = 0;
    if (call == nullptr) return;
    outer_call_ = call->io().id;
    context_.SetPlace(call->frame_id(), call->iteration());
  }

  // Runs the instructions in [at, end); no jump leaves that range.
  ABSL_ATTRIBUTE_ALWAYS_INLINE absl::Status Run(const SerialInstruction* at, const SerialInstruction* end) {
    const std::conditional_t<kSegment, SegmentScope, ProgramScope> scope;
    const FlushDenormals flush;
    const SerialInstruction* begin = program_->instructions().data();
    try {
      absl::Status status;
      for (;;) {
        while (at != end && Step(*at, &at, begin, &status)) {
        }
        if (kSegment || ABSL_PREDICT_TRUE(stack_ == nullptr)) break;
        at = ChangeProgram(at == end, &status);
        if (at == nullptr) break;
        begin = program_->instructions().data();
        end = begin + program_->instructions().size();
      }
      return ABSL_PREDICT_TRUE(status.ok()) ? status : Failed(status);
    } catch (const KernelCancelled&) {
      absl::Status status;
      if (cancellation_ == nullptr || !cancellation_->IsCancelling()) return DeadlinePassed();
      Stopped(&status);
      return status;
    } catch (...) {
      return AtCalls(StatusOfException(program_->graph(), NodeId(at != nullptr ? (at - 1)->io.id : failed_)));
    }
  }

 private:
  // Reading the clock takes longer than most nodes.
  static constexpr int64_t kCheckEveryNs = 16'000;
  static constexpr int64_t kNsOfRepeat = 4;
  static constexpr int64_t kNsOfCall = 32;
  // The frame and iteration that kernels see.
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

  // Executes one instruction and advances `*next`. Returns false on an error.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Step(const SerialInstruction& instruction, const SerialInstruction** next,
                                         const SerialInstruction* begin, absl::Status* status) {
    ++*next;
    switch (instruction.action) {
      case SerialAction::kCompute:
        if (ABSL_PREDICT_TRUE(Compute(instruction, status))) return true;
        return false;
      case SerialAction::kCall:
        if (!kSegment) return AskForCall(instruction, status);
        break;
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
      case SerialAction::kBranch:
        *status = Decide(instruction, begin, next);
        break;
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
      ThreadRuns::Current().HandToOwnThreads();
    }
    const NodeIo& io = instruction.io;
    PrepareCall(context_, io);
    const int64_t start = kWatched ? Begin(io.id) : 0;
    {
      absl::Status computed = instruction.kernel->Compute(context_);
      if (ABSL_PREDICT_FALSE(!computed.ok())) {
        if (kWatched && !IsInBody()) NodeObserver::Fail(run_.observer, NodeId(io.id), start);
        *status = std::move(computed);
        return Fail(io.id);
      }
    }
    if (kWatched && run_.observer != nullptr) Tell(io.id, start);
    if (kWatched) until_check_ns_ -= GuessNs(instruction);
    const auto is_right = [&](uint32_t i, const Entry& output) {
      *status = CheckOutput(i, output, io.output_types[i], output.is_dead() && program_->IsRead(io, i));
      return status->ok();
    };
    if (!CheckOutputs(
            context_.tables(), io, [](uint32_t, const Entry&) {}, is_right))
      return Fail(io.id);
    if (!instruction.has_last_uses) return true;
    const Operand* const inputs_end = io.operands + io.num_inputs;
    for (const Operand* operand = io.operands; operand != inputs_end; ++operand) {
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

  // --- Calls (Note [Called bodies]) ------------------------------------------------------------------------------

  bool IsInBody() const { return outer_call_ >= 0 || (stack_ != nullptr && !stack_->calls.empty()); }
  absl::Status AtCalls(absl::Status status) const noexcept {
    return stack_ != nullptr ? stack_->AtCalls(status) : status;
  }

  // Returns `status` of node failed_ as the run reports it. Notifies the observer, of the outermost call if one is
  // under way.
  ABSL_ATTRIBUTE_NOINLINE absl::Status Failed(const absl::Status& status) const {
    if (kWatched && outer_call_ < 0 && stack_ != nullptr && !stack_->calls.empty()) {
      const SerialCall& outermost = stack_->calls.front();
      NodeObserver::Fail(run_.observer, NodeId(outermost.call->io.id), outermost.start_ns);
    }
    return AtCalls(AtNode(program_->graph(), NodeId(failed_), status));
  }

  // Returns the start time for observers. They hear of a body's nodes only at their end.
  int64_t Begin(int32_t node) const {
    if (run_.observer == nullptr) return 0;
    return IsInBody() ? NodeObserver::NowNs() : NodeObserver::Begin(run_.observer, NodeId(node));
  }
  ABSL_ATTRIBUTE_NOINLINE void Tell(int32_t node, int64_t start) const {
    const int64_t end = NodeObserver::NowNs();
    if (!IsInBody()) return run_.observer->OnNode(NodeId(node), start, end, context_);
    const bool is_outer_here = outer_call_ < 0;
    const auto path = [&] {
      return stack_ != nullptr ? stack_->Path(is_outer_here ? 1 : 0, stack_->calls.size()) : std::string();
    };
    const NodeId outermost(is_outer_here ? stack_->calls.front().call->io.id : outer_call_);
    run_.observer->OnCalledNode({program_->graph(), NodeId(node), outermost, path}, start, end, context_);
  }

  // Makes ChangeProgram begin the call. Returns false, as for an error, to leave the loop.
  ABSL_ATTRIBUTE_NOINLINE bool AskForCall(const SerialInstruction& call, absl::Status* status) {
    if (kWatched) until_check_ns_ -= kNsOfCall;  // A body may have no kernel in it.
    if (MustStop(status)) return Fail(-1);
    failed_ = call.io.id;
    if (stack_ == nullptr) stack_ = std::make_unique<CallStack>();
    asked_ = &call;
    return false;
  }

  // Returns the instruction to continue with after the end of a program or a request for a call; null when the run is
  // over.
  ABSL_ATTRIBUTE_NOINLINE const SerialInstruction* ChangeProgram(bool is_at_end, absl::Status* status) {
    try {
      if (asked_ != nullptr) return BeginCall(*std::exchange(asked_, nullptr), status);
      if (!is_at_end || !status->ok() || stack_->calls.empty()) return nullptr;
      return EndCall(status);
    } catch (...) {
      *status = StatusOfException();  // Of the call, failed_: program_ may have changed already.
      return nullptr;
    }
  }

  const SerialInstruction* BeginCall(const SerialInstruction& call, absl::Status* status) {
    const NodeIo& io = call.io;
    const CalledBody& body = *program_->body(call);
    if (!body.status().ok()) {
      *status = body.status();
      return nullptr;
    }
    const SerialProgram& callee = *body.program();
    SerialCall record;
    record.caller = program_;
    record.call = &call;
    record.registers = context_.tables().table[static_cast<size_t>(Operand::Table::kSlots)];
    record.results = results_;
    record.registers_mark = stack_->registers.mark();
    record.results_mark = stack_->results.mark();
    if (kWatched) record.start_ns = Begin(io.id);
    Entry* const registers = stack_->registers.Take(static_cast<size_t>(callee.num_registers()));
    Tensor* const results = stack_->results.Take(callee.results().size());
    stack_->calls.push_back(record);
    // Nothing below throws.
    const absl::Span<const int32_t> places = callee.arguments();
    for (uint32_t i = 0; i < io.num_inputs; ++i) {
      const Operand input = io.input(i);
      const int32_t place = i < places.size() ? places[i] : -1;
      if (input.is_last_use()) {
        if (place >= 0) registers[place].MoveFrom(at(input));
        if (at(input).holds_buffer()) at(input).Clear();
      } else if (place >= 0) {
        registers[place].CopyFrom(at(input));
      }
    }
    program_ = &callee;
    results_ = absl::MakeSpan(results, callee.results().size());
    context_.tables() = Tables(callee, registers, /*kept=*/nullptr);
    return callee.instructions().data();
  }

  const SerialInstruction* EndCall(absl::Status* status) {
    const SerialCall call = stack_->calls.back();
    const absl::Span<Tensor> results = results_;
    RegisterPool::Clear(context_.tables().table[static_cast<size_t>(Operand::Table::kSlots)],
                        static_cast<size_t>(program_->num_registers()));
    stack_->registers.Return(call.registers_mark);
    stack_->results.Return(call.results_mark);
    stack_->calls.pop_back();
    program_ = call.caller;
    results_ = call.results;
    context_.tables() = Tables(*call.caller, call.registers, /*kept=*/nullptr);
    const NodeIo& io = call.call->io;
    failed_ = io.id;
    context_.SetNode(io);
    for (uint32_t i = 0; i < io.num_outputs; ++i) {
      Entry& output = at(io.output(i));
      if (ABSL_PREDICT_TRUE(i < results.size() && results[i].has_value())) {
        output.SetValue(std::move(results[i]));
        continue;
      }
      output.SetDead();
      if (status->ok() && program_->IsRead(io, i)) {
        output.MarkEmpty();
        *status = CheckOutput(i, output, io.output_types[i], /*is_read=*/true);
      }
    }
    if (kWatched && run_.observer != nullptr) Tell(io.id, call.start_ns);
    return status->ok() ? call.call + 1 : nullptr;
  }

  // The nodes that follow run in iteration 0 of static frame `frame`.
  void EnterLoop(int32_t frame) {
    const uint64_t around = context_.frame_id();
    const int64_t iteration = context_.iteration();
    around_.push_back({around, iteration});
    context_.SetPlace(ChildFrameNumber(around, iteration, program_->frame_name_hash(frame)), 0);
  }
  void LeaveLoop() {
    context_.SetPlace(around_.back().frame_id, around_.back().iteration);
    around_.pop_back();
  }

  // Estimates, at the low end, how long the node that has just run took, by its kind and size.
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
    if (!value.has_value() && !program_->graph().op(NodeId(instruction.io.id)).allows_uninitialized_input) {
      return UninitializedInput(instruction.number);
    }
    at(instruction.destination).SetValue(std::move(value));
    return absl::OkStatus();
  }

  // Moves `*next` to the branch's target unless the predicate takes the port.
  absl::Status Decide(const SerialInstruction& instruction, const SerialInstruction* begin,
                      const SerialInstruction** next) {
    const Tensor& value = at(instruction.source).value();
    if (ABSL_PREDICT_TRUE(value.dtype() == DType::kBool && value.rank() == 0)) {
      if (value.flat<bool>()[0] != (instruction.number == 1)) *next = begin + instruction.target;
      return absl::OkStatus();
    }
    if (value.rank() != 0 || value.dtype() != DType::kInt32) {
      return Error(ErrorCode::kOpShape)
          .Input(1)
          .Found(value.shape().ToString())
          .Expected("a scalar")
          .Text("must be a scalar");
    }
    // An index out of range takes the last port.
    const int32_t port = value.flat<int32_t>()[0];
    const int32_t last = instruction.num_ports - 1;
    if (instruction.number != (port < 0 || port > last ? last : port)) *next = begin + instruction.target;
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

  const SerialProgram* program_;  // The one that runs now.
  const RunContext& run_;
  absl::Span<Tensor> results_;  // Of program_.
  SegmentOwner* const owner_;
  const CancellationManager* const cancellation_;
  KernelContext context_;
  int32_t failed_ = -1;
  int64_t until_check_ns_ = std::numeric_limits<int64_t>::max();  // By GuessNs; then the clock is looked at.
  absl::InlinedVector<Place, 4> around_;                          // The iterations that the loops under way are in.
  int32_t outer_call_ = -1;                                       // Of the dataflow driver's graph; -1: none.
  std::unique_ptr<CallStack> stack_;                              // Null: no call yet.
  const SerialInstruction* asked_ = nullptr;                      // The call to begin.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_PROGRAM_RUNNER_H_
