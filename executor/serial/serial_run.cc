#include "executor/serial/serial_run.h"

#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/flush_denormals.h"
#include "executor/node_error.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/value/ref_cell.h"

namespace sluice {
namespace {

// One run. `kWatched` runs look at the clock and have an observer; the others pay for neither.
template <bool kWatched>
class Runner {
 public:
  Runner(const SerialProgram& program, Entry* registers, const RunContext& run, const SerialRunOptions& options,
         absl::Span<Tensor> results)
      : program_(program),
        options_(options),
        results_(results),
        cancellation_(run.cancellation),
        context_(run, Tables(program, registers)) {}

  absl::Status Run() {
    const FlushDenormals flush;
    const SerialInstruction* const begin = program_.instructions().data();
    const SerialInstruction* const end = begin + program_.instructions().size();
    const SerialInstruction* at = begin;
    try {
      absl::Status status;
      while (at != end && Step(*at, &at, begin, &status)) {
      }
      return status.ok() ? status : AtNode(program_.graph(), NodeId(failed_), status);
    } catch (...) {
      return AtNode(program_.graph(), NodeId((at - 1)->io.id), StatusOfException());
    }
  }

 private:
  static EntryTables Tables(const SerialProgram& program, Entry* registers) {
    EntryTables tables;
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
      case SerialAction::kRepeat:
        *next = begin + instruction.target;
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
    }
    if (ABSL_PREDICT_TRUE(status->ok())) return true;
    failed_ = instruction.io.id;
    return false;
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Compute(const SerialInstruction& instruction, absl::Status* status) {
    if (ABSL_PREDICT_FALSE(MustStop(status))) return Fail(-1);
    const NodeIo& io = instruction.io;
    const Operand* const outputs = io.operands + io.num_inputs;
    const Operand* const outputs_end = outputs + io.num_outputs;
    for (const Operand* output = outputs; output != outputs_end; ++output) at(*output).MarkEmpty();
    context_.SetNode(io);
    const int64_t start = kWatched ? NodeObserver::Begin(options_.observer, NodeId(io.id)) : 0;
    {
      absl::Status computed = instruction.kernel->Compute(context_);
      if (ABSL_PREDICT_FALSE(!computed.ok())) {
        if (kWatched) NodeObserver::Fail(options_.observer, NodeId(io.id), start);
        *status = std::move(computed);
        return Fail(io.id);
      }
    }
    if (kWatched && options_.observer != nullptr) {
      options_.observer->OnNode(NodeId(io.id), start, NodeObserver::NowNs(), context_);
    }
    for (const Operand* output = outputs; output != outputs_end; ++output) {
      const Entry& entry = at(*output);
      const DType declared = io.output_types[output - outputs];
      const bool is_right = entry.has_value() ? entry.value().dtype() == declared : IsRefOf(entry, declared);
      if (ABSL_PREDICT_FALSE(!is_right)) {
        *status = WrongOutput(instruction, static_cast<uint32_t>(output - outputs));
        if (!status->ok()) return Fail(io.id);
      }
    }
    if (!instruction.has_last_uses) return true;
    for (const Operand* operand = io.operands; operand != outputs; ++operand) {
      if (operand->is_last_use() && ABSL_PREDICT_FALSE(at(*operand).holds_buffer())) at(*operand).Clear();
    }
    return true;
  }

  static bool IsRefOf(const Entry& entry, DType declared) {
    return entry.is_ref() && IsRef(declared) && entry.ref()->dtype() == BaseType(declared);
  }

  bool Fail(int32_t node) {
    failed_ = node;
    return false;
  }

  // Whether some node reads output `i` of `id`. Slow: asked only where a kernel has left one out.
  bool IsRead(NodeId id, uint32_t i) const {
    const Graph& graph = program_.graph();
    for (int32_t reader = 0; reader < graph.id_limit(); ++reader) {
      if (!graph.Contains(NodeId(reader))) continue;
      for (const Output& input : graph.inputs(NodeId(reader))) {
        if (input == Output{id, static_cast<int32_t>(i)}) return true;
      }
    }
    return false;
  }

  // What is wrong with an output that is no value of its type; nothing if nobody wants it.
  ABSL_ATTRIBUTE_NOINLINE absl::Status WrongOutput(const SerialInstruction& instruction, uint32_t i) {
    const Entry& output = at(instruction.io.output(i));
    if (output.is_dead()) {
      if (!IsRead(NodeId(instruction.io.id), i)) return absl::OkStatus();
      return Error(ErrorCode::kOutputMissing).Text(absl::StrCat("output ", i, " was not set by the kernel"));
    }
    return Error(ErrorCode::kOutputType)
        .Found(output.is_ref() ? absl::StrCat(DTypeName(output.ref()->dtype()), " (reference)")
                               : std::string(DTypeName(output.value().dtype())))
        .Expected(DTypeName(instruction.io.output_types[i]))
        .Text(absl::StrCat("output ", i, " has the wrong dtype"));
  }

  // The input of `node` that gives a reference where a value is wanted; -1 unless it is one alone.
  int32_t ReadReference(NodeId node) const {
    const Graph& graph = program_.graph();
    const absl::Span<const Output> inputs = graph.inputs(node);
    int32_t found = -1;
    for (int32_t i = 0; i < static_cast<int32_t>(inputs.size()); ++i) {
      const Output& source = inputs[static_cast<size_t>(i)];
      if (IsRef(graph.input_type(node, i)) || !IsRef(graph.output_type(source.node, source.index))) continue;
      if (found >= 0) return -1;
      found = i;
    }
    return found;
  }

  ABSL_ATTRIBUTE_NOINLINE absl::Status Dereference(const SerialInstruction& instruction) {
    Tensor value = at(instruction.source).ref()->Read();
    const Graph& graph = program_.graph();
    const NodeId node(instruction.io.id);
    if (!value.has_value() && !graph.op(node).allows_uninitialized_input) {
      return Error(ErrorCode::kUninitialized).Input(ReadReference(node)).Text("reads a variable that has no value yet");
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
    return kWatched && options_.deadline != absl::InfiniteFuture() && IsLate(status);
  }

  ABSL_ATTRIBUTE_NOINLINE bool Stopped(absl::Status* status) const {
    *status = cancellation_->status();
    if (status->ok()) *status = Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
    return true;
  }

  ABSL_ATTRIBUTE_NOINLINE bool IsLate(absl::Status* status) const {
    if (absl::Now() <= options_.deadline) return false;
    *status = Error(ErrorCode::kDeadline).Text("the deadline of the run has passed");
    return true;
  }

  const SerialProgram& program_;
  const SerialRunOptions& options_;
  const absl::Span<Tensor> results_;
  const CancellationManager* const cancellation_;
  KernelContext context_;
  int32_t failed_ = -1;
};

}  // namespace

absl::Status RunSerialProgram(const SerialProgram& program, Entry* registers, const RunContext& context,
                              const SerialRunOptions& options, absl::Span<Tensor> results) {
  const bool is_watched = options.observer != nullptr || options.deadline != absl::InfiniteFuture();
  if (is_watched) return Runner<true>(program, registers, context, options, results).Run();
  return Runner<false>(program, registers, context, options, results).Run();
}

std::unique_ptr<Entry[]> RegisterPool::Take() {
  {
    MutexLock lock(&mu_);
    if (!kept_.empty()) {
      std::unique_ptr<Entry[]> registers = std::move(kept_.back());
      kept_.pop_back();
      return registers;
    }
  }
  return std::make_unique<Entry[]>(num_registers_);
}

void RegisterPool::Put(std::unique_ptr<Entry[]> registers) {
  Clear(registers.get(), num_registers_);
  MutexLock lock(&mu_);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(registers));
}

void RegisterPool::Clear(Entry* registers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (registers[i].holds_buffer()) registers[i].Clear();
  }
}

}  // namespace sluice
