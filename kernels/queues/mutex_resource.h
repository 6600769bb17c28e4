#ifndef SLUICE_KERNELS_QUEUES_MUTEX_RESOURCE_H_
#define SLUICE_KERNELS_QUEUES_MUTEX_RESOURCE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tensor.h"
#include "graph/value/variant.h"
#include "kernels/queues/waiting_room.h"

namespace sluice {

// A lock that nodes, of any step, acquire in turn. Owned by the resource manager, the locks that are held and the
// operations under way. Thread-safe.
class MutexResource final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Mutex";
  using Done = absl::AnyInvocable<void(absl::Status, Variant lock)>;

  MutexResource();

  // Waits for the lock. It is held as long as the value that `done` gets, a MutexLock, is alive. `done` is called once.
  void Lock(CancellationManager* cancellation, Done done);
  std::string DebugString() const override;

 private:
  friend class MutexLockValue;
  struct LockWaiter;

  Waiter::Progress TryLock(LockWaiter& waiter);
  void Unlock();

  WaitingRoom room_;
  bool is_locked_ ABSL_GUARDED_BY(room_.mu) = false;
};

// Holds a mutex until it is destroyed.
class MutexLockValue final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "tensorflow::MutexLock";
  explicit MutexLockValue(CountedPtr<MutexResource> mutex) : VariantObject(kTypeName), mutex_(std::move(mutex)) {}
  ~MutexLockValue() override { mutex_->Unlock(); }

  // UNIMPLEMENTED: a file holds no lock.
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;

 private:
  const CountedPtr<MutexResource> mutex_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_MUTEX_RESOURCE_H_
