#ifndef SLUICE_GRAPH_BASE_DEVICE_NAME_H_
#define SLUICE_GRAPH_BASE_DEVICE_NAME_H_

// Names of devices and of sets of devices, as TensorFlow writes them.
//
//   /job:worker/replica:0/task:3/device:GPU:1   one device
//   /job:worker/device:GPU:*                    any GPU of the job
//   /gpu:1, /CPU:0                              short forms, the same as /device:GPU:1 and /device:CPU:0
//
// Parts may come in any order and more than once (the last one counts); a part left out, or "*", matches anything.
// Case matters, but for the short forms, which are written "cpu", "CPU", "gpu" or "GPU" and mean the upper-case type.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// A device name taken apart; parts that are not stated are empty or -1. A value type.
struct DeviceName {
  std::string job;
  std::string type;  // "CPU", "GPU", ...
  int32_t replica = -1;
  int32_t task = -1;
  int32_t id = -1;

  // Whether all five parts are stated, so that this names one device.
  bool IsFull() const { return !job.empty() && replica >= 0 && task >= 0 && !type.empty() && id >= 0; }
  // Canonical text: "/job:a/replica:0/task:1/device:GPU:*", stated parts only ("*" for one of type and id).
  std::string ToString() const;

  friend bool operator==(const DeviceName& a, const DeviceName& b) {
    return a.job == b.job && a.type == b.type && a.replica == b.replica && a.task == b.task && a.id == b.id;
  }
  friend bool operator!=(const DeviceName& a, const DeviceName& b) { return !(a == b); }
};

// Reads a full or partial name into `*name` (may be null: checks only) without allocating for short parts. False for
// anything else: relative names ("CPU:0"), numbers above 2^31-1, text left over. "" and "/" state nothing.
[[nodiscard]] bool ParseDeviceName(absl::string_view text, DeviceName* name);

// Whether `text` may stand in a node's device field: "" or what ParseDeviceName reads.
bool IsValidDeviceSpec(absl::string_view text);

// Whether every part that `pattern` states is the same in `name`.
bool MatchesDevice(const DeviceName& pattern, const DeviceName& name);

// Whether some device could match both.
bool AreCompatible(const DeviceName& a, const DeviceName& b);

// Adds the parts that `other` states to `*target`. When both state a part differently: INVALID_ARGUMENT (kColocation),
// `*target` unchanged; but with `allow_soft` a difference of type clears type and id instead, one of id clears the id.
absl::Status MergeDeviceNames(const DeviceName& other, bool allow_soft, DeviceName* target);

// `base` with every part that `other` states taken from `other`.
DeviceName OverrideDeviceName(const DeviceName& base, const DeviceName& other);

// "/job:J/replica:R/task:T", the part of a full name that says which process. REQUIRES: those parts are stated.
std::string TaskName(const DeviceName& name);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_DEVICE_NAME_H_
