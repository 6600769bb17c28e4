#ifndef SLUICE_KERNELS_QUEUES_STAGING_MAP_H_
#define SLUICE_KERNELS_QUEUES_STAGING_MAP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/value/resource_handle.h"
#include "kernels/queues/queue_store.h"
#include "kernels/queues/staging_spec.h"
#include "kernels/queues/waiting_room.h"

namespace sluice {

// Lists of tensors under keys, between two parts of a graph. A list is put whole or in parts and, once it was complete,
// taken whole or in parts. The first node that uses the map sets its capacity. Owned by the resource manager and the
// operations under way. Thread-safe.
class StagingMap : public Resource {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using GetDone = absl::AnyInvocable<void(absl::Status, Tensor key, QueueElement)>;
  // Some tensors of an element, by their numbers, which ascend.
  struct Part {
    std::vector<size_t> numbers;
    QueueElement tensors;  // As many.
  };
  struct Request {
    bool has_key = false;  // Else the element with the smallest key.
    int64_t key = 0;
    bool takes = true;            // Else the tensors stay.
    std::vector<size_t> numbers;  // Of tensors of the element.
    std::vector<DType> types;     // As many.
  };

  // Puts part of the element `key`, a tensor of one int64, which has `width` tensors. A whole one waits for room;
  // where there is one of its key already, that stays and the new one is dropped, as in TensorFlow. A part of one waits
  // for room in memory only, and kOpValue says that there is one of its numbers already. kOutOfMemory for more bytes
  // than the map ever holds. `done` is called once, and so below. REQUIRES: numbers below `width`.
  void Put(Tensor key, Part part, size_t width, CancellationManager* cancellation, Done done);
  // Waits for a complete element. kOpValue for a tensor that it does not have, or no longer, kOutputType for one of
  // another dtype: then all tensors stay where they are.
  void Get(Request request, CancellationManager* cancellation, GetDone done);
  void Clear();
  int64_t num_complete() const;
  int64_t num_incomplete() const;
  std::string DebugString() const override;

 protected:
  StagingMap(absl::string_view type_name, const StagingSpec& spec);

 private:
  enum Line { kPutters, kGetters };
  struct Element {
    Tensor key;
    QueueElement tensors;  // Without a value where one has not come yet, or was taken.
    size_t num_present = 0;
  };
  using Elements = std::map<int64_t, Element>;
  struct PutWaiter;
  struct GetWaiter;

  Waiter::Progress TryPut(PutWaiter& waiter, absl::Status* failure);
  absl::Status AddPart(PutWaiter& waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(room_.mu);
  Waiter::Progress TryGet(GetWaiter& waiter, absl::Status* failure);
  CountedPtr<const Counted> Self() const { return CountedPtr<const Counted>::Share(this); }

  const StagingSpec spec_;
  WaitingRoom room_;
  Elements complete_ ABSL_GUARDED_BY(room_.mu);
  Elements incomplete_ ABSL_GUARDED_BY(room_.mu);
  int64_t bytes_ ABSL_GUARDED_BY(room_.mu) = 0;  // Of all elements.
};

// What Map... ops of one name share. As its base.
class PlainStagingMap final : public StagingMap {
 public:
  static constexpr absl::string_view kTypeName = "StagingMap";
  explicit PlainStagingMap(const StagingSpec& spec) : StagingMap(kTypeName, spec) {}
};

// The same for OrderedMap... ops: under one name there may be one of each.
class OrderedStagingMap final : public StagingMap {
 public:
  static constexpr absl::string_view kTypeName = "OrderedStagingMap";
  explicit OrderedStagingMap(const StagingSpec& spec) : StagingMap(kTypeName, spec) {}
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_STAGING_MAP_H_
