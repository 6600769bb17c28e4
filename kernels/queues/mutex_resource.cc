#include "kernels/queues/mutex_resource.h"

#include <memory>

#include "graph/base/error.h"

namespace sluice {

struct MutexResource::LockWaiter final : Waiter {
  LockWaiter(MutexResource& m, Done d) : mutex(m), done(std::move(d)) {}
  Progress Try() override { return mutex.TryLock(*this); }
  void Finish(absl::Status status) override { done(std::move(status), std::move(lock)); }

  MutexResource& mutex;
  Variant lock;
  Done done;
};

MutexResource::MutexResource() : Resource(kTypeName), room_({WaitingRoom::Order::kInTurn}) {}

void MutexResource::Lock(CancellationManager* cancellation, Done done) {
  room_.Submit(0, std::make_unique<LockWaiter>(*this, std::move(done)), cancellation,
               CountedPtr<const Counted>::Share(this));
}

Waiter::Progress MutexResource::TryLock(LockWaiter& waiter) {
  room_.mu.AssertHeld();
  if (is_locked_) return Waiter::Progress::kNone;
  waiter.lock = Variant(MakeCounted<MutexLockValue>(CountedPtr<MutexResource>::Share(this)));
  is_locked_ = true;
  return Waiter::Progress::kDone;
}

void MutexResource::Unlock() {
  {
    MutexLock lock(&room_.mu);
    is_locked_ = false;
  }
  room_.Serve();
}

std::string MutexResource::DebugString() const {
  MutexLock lock(&room_.mu);
  return is_locked_ ? "mutex, locked" : "mutex";
}

absl::Status MutexLockValue::Encode(std::string*, std::vector<Tensor>*) const {
  return Error(ErrorCode::kOpUnimplemented).Text("a lock of a mutex cannot be written to a file");
}

}  // namespace sluice
