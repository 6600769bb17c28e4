#ifndef SLUICE_RENDEZVOUS_KEY_H_
#define SLUICE_RENDEZVOUS_KEY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/device_name.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/base/strong_id.h"

namespace sluice {

// Note [Rendezvous keys]
// A key says who sends what to whom in which frame and iteration. On the wire it is TensorFlow's text:
//   src_device;src_incarnation as 16 hex digits;dst_device;edge_name;frame:iteration
// Inside a process the first four parts, which never change, are one number that Send and Recv get from an EdgeTable
// when they are made; a key is then three integers, and nothing is formatted or hashed as text while a graph runs.

// A pair of Send and Recv nodes; see EdgeTable.
using EdgeNumber = StrongId<struct EdgeNumberTag, int32_t>;

// The key of one value within a process.
struct RendezvousKey {
  EdgeNumber edge;
  uint64_t frame = 0;  // See frame_hash.h.
  int64_t iteration = 0;

  friend bool operator==(const RendezvousKey& a, const RendezvousKey& b) {
    return a.edge == b.edge && a.frame == b.frame && a.iteration == b.iteration;
  }
  friend bool operator!=(const RendezvousKey& a, const RendezvousKey& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H state, const RendezvousKey& key) {
    return H::combine(std::move(state), key.edge, key.frame, key.iteration);
  }
};

// A wire key taken apart. A value type.
struct WireKey {
  DeviceName src, dst;                 // Full names.
  std::string src_device, dst_device;  // As written in the text.
  uint64_t src_incarnation = 0;
  std::string edge_name;
  uint64_t frame = 0;
  int64_t iteration = 0;
};

// The first four parts of a wire key, joined: what an EdgeTable numbers.
std::string EdgeText(absl::string_view src_device, uint64_t src_incarnation, absl::string_view dst_device,
                     absl::string_view edge_name);

// The whole text. `edge_text` is EdgeText's.
std::string WireKeyText(absl::string_view edge_text, uint64_t frame, int64_t iteration);

// kKeySyntax (INVALID_ARGUMENT) unless `text` has exactly five parts, none empty, both devices are full names, the
// incarnation is hexadecimal and frame and iteration are numbers.
absl::StatusOr<WireKey> ParseWireKey(absl::string_view text);

// Numbers the edges of one plan from 0 and keeps their texts. Has one entry per transfer of the graph: neither steps
// nor requests of peers add any. Thread-safe.
class EdgeTable {
 public:
  // The number of `edge_text`, the same for the same text.
  EdgeNumber Number(absl::string_view edge_text) ABSL_LOCKS_EXCLUDED(mu_);
  // The number of `edge_text`, or an unset one if Number was never called with it.
  EdgeNumber Find(absl::string_view edge_text) const ABSL_LOCKS_EXCLUDED(mu_);
  // The text of a number given before; lives as long as the table.
  absl::string_view Text(EdgeNumber edge) const ABSL_LOCKS_EXCLUDED(mu_);
  // Parses `text` to a key. Returns kKeySyntax also for an edge without a number, which no graph of the plan has.
  absl::StatusOr<RendezvousKey> FromWire(absl::string_view text) const ABSL_LOCKS_EXCLUDED(mu_);
  std::string ToWire(const RendezvousKey& key) const { return WireKeyText(Text(key.edge), key.frame, key.iteration); }

 private:
  mutable Mutex mu_;
  std::vector<std::unique_ptr<const std::string>> texts_ ABSL_GUARDED_BY(mu_);
  HashMap<absl::string_view, EdgeNumber> numbers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_KEY_H_
