#ifndef SLUICE_RENDEZVOUS_FRAME_HASH_H_
#define SLUICE_RENDEZVOUS_FRAME_HASH_H_

// Names of live loop frames as 64-bit numbers. They stand inside rendezvous keys, so every process of a step must get
// the same number for the same frame: the hash is part of TensorFlow's protocol and never changes.

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// MurmurHash64A with TensorFlow's seed, 0xdecafcaffe.
uint64_t ProtocolHash(absl::string_view text);

// `b` mixed into `a`; not symmetric.
uint64_t ProtocolHashCombine(uint64_t a, uint64_t b);

// The number of the frame `name` that iteration `parent_iteration` of the frame `parent_frame` entered. The outermost
// frame of a step has the number 0.
uint64_t ChildFrameNumber(uint64_t parent_frame, int64_t parent_iteration, absl::string_view name);
// The same for the ProtocolHash of the name.
uint64_t ChildFrameNumber(uint64_t parent_frame, int64_t parent_iteration, uint64_t name_hash);

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_FRAME_HASH_H_
