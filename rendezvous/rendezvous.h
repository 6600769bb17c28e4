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

// How one side sees the transfer. Handed through, not looked at.
struct TransferArgs {
  CountedPtr<DeviceContext> device_context;
  bool on_host = true;  // Whether this side's memory is the host's.
};

// Gets what came under a key: OK with a value, or why none will come. Called exactly once.
using RecvDone = absl::AnyInvocable<void(absl::Status status, RendezvousValue value, const TransferArgs& sender,
                                         const TransferArgs& receiver)>;

// Where the Send and Recv nodes of one step meet. Sends never wait; several sends of one key queue up and are received
// in order. After StartAbort everything fails with the first abort's status.
// The edges of its keys are those of one table, edges(). Transfer kernels that were made with another table look their
// edge up in this one by its text, at some cost: so all executors of a step mean the same edge by the same number.
// Counted: the executors of the step and the callbacks under way share it (one of the shared things of STYLE.md
// rule 17). Thread-safe.
class Rendezvous : public Counted {
 public:
  // Null: there are no keys for nodes of graphs, whose transfers fail (kFacilityMissing).
  EdgeTable* edges() const { return edges_; }

  // Hands `value` to the receive that waits for `key` (its `done` runs here, before the return), or keeps it for one.
  // Returns the abort's status after an abort.
  virtual absl::Status Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) = 0;

  // Asks for the value sent under `key`. Never waits. `done` may run before the return. With a `cancellation` (may be
  // null; must outlive the transfer), cancelling it ends this one wait with a derived CANCELLED.
  virtual void RecvAsync(const RendezvousKey& key, const TransferArgs& receiver, CancellationManager* cancellation,
                         RecvDone done) = 0;

  // Ends all waits with `status` and drops what was sent. The first call counts. REQUIRES: !status.ok().
  virtual void StartAbort(const absl::Status& status) = 0;

 protected:
  // `edges` may be null, and outlives all runs that use this.
  explicit Rendezvous(EdgeTable* edges = nullptr) : edges_(edges) {}

 private:
  EdgeTable* const edges_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_RENDEZVOUS_H_
