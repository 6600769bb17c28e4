#ifndef SLUICE_RENDEZVOUS_RENDEZVOUS_H_
#define SLUICE_RENDEZVOUS_RENDEZVOUS_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "graph/base/cancellation.h"
#include "graph/value/counted.h"
#include "graph/value/device_context.h"
#include "graph/value/tensor.h"
#include "rendezvous/key.h"

namespace sluice {

// What is transferred: a tensor, or that the value is dead.
struct RendezvousValue {
  Tensor tensor;
  bool is_dead = false;
};

// One side's description of the transfer. Passed through to the other side unread.
struct TransferArgs {
  CountedPtr<DeviceContext> device_context;
  bool on_host = true;  // Whether this side's memory is the host's.
};

// Receives the value sent under a key, or the error because of which none will arrive. Called exactly once.
using RecvDone = absl::AnyInvocable<void(absl::Status status, RendezvousValue value, const TransferArgs& sender,
                                         const TransferArgs& receiver)>;

// Where the Send and Recv nodes of one step meet. Sends never wait; several sends of one key queue up and are received
// in order. After StartAbort everything fails with the first abort's status.
// The edge numbers in its keys are those of one table, edges(), so that all executors of a step use the same number for
// the same edge. Transfer kernels made with another table look up their edge in this one by its text, which costs time.
// Counted: the executors of the step and the callbacks under way share it (one of the shared things of STYLE.md
// rule 17). Thread-safe.
class Rendezvous : public Counted {
 public:
  // If null, transfers of graph nodes fail with kFacilityMissing, because their edges have no keys.
  EdgeTable* edges() const { return edges_; }

  // Passes `value` to the receive that waits for `key`, whose `done` runs before this returns, or keeps it for a later
  // one. After an abort, returns the abort's status.
  virtual absl::Status Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) = 0;

  // Asks for the value sent under `key`. Never waits. `done` may run before the return. With a `cancellation` (may be
  // null; must outlive the transfer), cancelling it ends this one wait with a derived CANCELLED.
  virtual void RecvAsync(const RendezvousKey& key, const TransferArgs& receiver, CancellationManager* cancellation,
                         RecvDone done) = 0;

  // Ends all waits with `status` and drops what was sent. The first call counts. REQUIRES: !status.ok().
  virtual void StartAbort(const absl::Status& status) = 0;

 protected:
  // `edges` may be null; it must outlive all runs that use this.
  explicit Rendezvous(EdgeTable* edges = nullptr) : edges_(edges) {}

 private:
  EdgeTable* const edges_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_RENDEZVOUS_H_
