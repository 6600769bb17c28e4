#include "kernels/transfer/copy_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// A copy on a device that is made once. Thread-safe.
class KeptCopy {
 public:
  // Without a value before Set.
  Tensor Get() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return tensor_;
  }
  void Set(const Tensor& tensor) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (!tensor_.has_value()) tensor_ = tensor;
  }

 private:
  mutable Mutex mu_;
  Tensor tensor_ ABSL_GUARDED_BY(mu_);
};

// One copy under way, block by block of pinned memory. Data from a device is in the block once the event has come; data
// for a device may be used, by the order of the streams, as soon as the last block is queued. Owns itself from Start
// on; one thread's at a time.
class CopyJob final : private EventWaiter::Task, private Staging::Waiter {
 public:
  struct Plan {
    StreamDevice* from = nullptr;
    StreamDevice* to = nullptr;
    KeptCopy* kept = nullptr;  // Where later calls find the copy; null if it is not shared.
  };

  CopyJob(const Plan& plan, KernelContext& context, AsyncKernel::Done done)
      : plan_(plan), context_(context), done_(std::move(done)) {}

  static void Start(std::unique_ptr<CopyJob> job) noexcept {
    CopyJob* const started = job.release();
    const absl::Status prepared = AsStatus([&] { return started->Prepare(); });
    prepared.ok() ? started->Continue() : started->Finish(prepared);
  }

 private:
  enum class Progress : uint8_t { kOver, kWaiting };

  absl::Status Prepare() {
    source_ = context_.TakeInput(0);
    bytes_ = source_.total_bytes();
    const Shape shape = source_.shape();
    if (bytes_ == 0 || plan_.to == nullptr) {
      SLUICE_ASSIGN_OR_RETURN(target_, Tensor::Make(source_.dtype(), shape, context_.allocator()));
    }
    if (bytes_ == 0) return absl::OkStatus();
    if (IsInDeviceMemory(source_) != (plan_.from != nullptr)) return WrongMemory();
    if (plan_.from != nullptr) {
      Stream* const writer = plan_.from->WriterOf(source_);
      if (writer == nullptr) return WrongMemory();
      out_ = &plan_.from->StreamForCopy(StreamDevice::Use::kToHost, bytes_);
      SLUICE_RETURN_IF_ERROR(out_->After(*writer));
    }
    if (plan_.to == nullptr) return absl::OkStatus();
    if (!IsTrivial(source_.dtype())) return WrongMemory();
    in_ = plan_.kept != nullptr ? &plan_.to->stream(StreamDevice::Use::kCompute)
                                : &plan_.to->StreamForCopy(StreamDevice::Use::kToDevice, bytes_);
    mark_ = plan_.to->num_failures();
    SLUICE_ASSIGN_OR_RETURN(target_, Tensor::Make(source_.dtype(), shape, in_->memory(), in_->tag()));
    return absl::OkStatus();
  }

  static absl::Status WrongMemory() {
    return Error(ErrorCode::kInternal).Input(0).Text("is not in the memory that it is to be copied from");
  }

  // Goes on until there is something to wait for. This may be gone afterwards.
  void Continue() noexcept {
    Progress progress = Progress::kOver;
    const absl::Status status = AsStatus([&]() -> absl::Status {
      SLUICE_ASSIGN_OR_RETURN(progress, CopyBlocks());
      return absl::OkStatus();
    });
    if (!status.ok() || progress == Progress::kOver) Finish(status);
  }

  absl::StatusOr<Progress> CopyBlocks() {
    while (offset_ < bytes_) {
      if (block_ == nullptr) {
        SLUICE_ASSIGN_OR_RETURN(Staging::Block* const taken, staging().TakeOrWait(this));
        if (taken == nullptr) return Progress::kWaiting;  // Another thread may have gone on already.
        block_ = taken;
      }
      size_ = std::min(bytes_ - offset_, staging().block_bytes());
      const char* const source = static_cast<const char*>(source_.raw_data()) + offset_;
      if (plan_.from == nullptr) {
        std::memcpy(block_->data(), source, size_);
      } else if (!has_filled_) {
        SLUICE_RETURN_IF_ERROR(out_->CopyToHost(block_->data(), source, size_));
        has_filled_ = true;
        CountedPtr<Event> event = out_->RecordOrWait();
        if (event && plan_.from->events().AddOrWait(std::move(event), this)) return Progress::kWaiting;  // The same.
      }
      SLUICE_RETURN_IF_ERROR(EmptyBlock());
    }
    if (plan_.kept != nullptr && !has_settled_) {
      // Later calls rely on what is there.
      has_settled_ = true;
      CountedPtr<Event> event = in_->RecordOrWait();
      if (event && plan_.to->events().AddOrWait(std::move(event), this)) return Progress::kWaiting;
    }
    return Progress::kOver;
  }

  // Copies the block to the target.
  absl::Status EmptyBlock() {
    char* const target = static_cast<char*>(target_.mutable_raw_data()) + offset_;
    if (plan_.to == nullptr) {
      std::memcpy(target, block_->data(), size_);
      std::exchange(block_, nullptr)->Put();
    } else {
      SLUICE_RETURN_IF_ERROR(in_->CopyToDevice(target, block_->data(), size_));
      std::exchange(block_, nullptr)->PutAfter(plan_.to->events(), in_->RecordOrWait());
    }
    offset_ += size_;
    has_filled_ = false;
    return absl::OkStatus();
  }

  void EventHasCome() noexcept override { Continue(); }
  void BlockCame(Staging::Block* block) noexcept override {
    block_ = block;
    Continue();
  }

  void Finish(absl::Status status) noexcept {
    if (block_ != nullptr) block_->Put();  // Nothing was queued that uses it.
    if (status.ok() && plan_.kept != nullptr && bytes_ > 0) {
      status = AsStatus([&] { return plan_.to->FailureSince(mark_); });
      if (status.ok()) plan_.kept->Set(target_);
    }
    AsyncKernel::Done done = std::move(done_);
    if (status.ok()) context_.SetOutput(0, std::move(target_));
    { const std::unique_ptr<CopyJob> self(this); }
    done(std::move(status));
  }

  // From one device to another, the first one's: pinned memory serves all devices.
  Staging& staging() const { return plan_.from != nullptr ? plan_.from->staging() : plan_.to->staging(); }

  const Plan plan_;
  KernelContext& context_;
  AsyncKernel::Done done_;
  Tensor source_, target_;
  Stream* out_ = nullptr;  // Of `from`.
  Stream* in_ = nullptr;   // Of `to`.
  size_t bytes_ = 0, offset_ = 0;
  Staging::Block* block_ = nullptr;
  size_t size_ = 0;           // Of what is in the block, or on its way there.
  bool has_filled_ = false;   // From a device.
  bool has_settled_ = false;  // All of it has been waited for.
  uint64_t mark_ = 0;         // Failures of `to` before.
};

// See NewCopyKernel. Thread-safe.
class CopyKernel final : public AsyncKernel {
 public:
  CopyKernel(StreamDevice* from, StreamDevice* to, bool is_constant)
      : from_(from), to_(to), keeps_(is_constant && from == nullptr && to != nullptr) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    if (keeps_) {
      Tensor kept = kept_.Get();
      if (kept.has_value()) {
        context.SetOutput(0, std::move(kept));
        return done(absl::OkStatus());
      }
    }
    CopyJob::Plan plan;
    plan.from = from_;
    plan.to = to_;
    plan.kept = keeps_ ? &kept_ : nullptr;
    CopyJob::Start(std::make_unique<CopyJob>(plan, context, std::move(done)));
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  StreamDevice* const from_;
  StreamDevice* const to_;
  const bool keeps_;
  mutable KeptCopy kept_;  // Changes no result.
};

}  // namespace

std::unique_ptr<Kernel> NewCopyKernel(StreamDevice* from, StreamDevice* to, bool is_constant) {
  return std::make_unique<CopyKernel>(from, to, is_constant);
}

}  // namespace sluice
