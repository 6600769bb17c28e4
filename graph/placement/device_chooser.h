#ifndef SLUICE_GRAPH_PLACEMENT_DEVICE_CHOOSER_H_
#define SLUICE_GRAPH_PLACEMENT_DEVICE_CHOOSER_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/device_name.h"
#include "graph/base/hash_table.h"
#include "graph/placement/device_list.h"

namespace sluice {

// Chooses devices for patterns (partial device names), and remembers each choice: a million nodes have a handful of
// patterns. Patterns are numbered; texts with the same meaning have the same number.
// Borrows the list. Not thread-safe.
class DeviceChooser {
 public:
  static constexpr int32_t kAnyDevice = 0;  // The empty pattern.
  static constexpr int32_t kNoDevice = -1;  // No device matches.
  static constexpr int32_t kNoKernel = -2;  // Some match, but none is of a wanted type.

  explicit DeviceChooser(const DeviceList& devices);

  // The pattern of `text`, or -1 when it is malformed. The views of texts need not live on.
  int32_t Pattern(absl::string_view text);
  // The pattern that states what both state, or -1 when they contradict each other. See MergeDeviceNames.
  int32_t Merge(int32_t a, int32_t b, bool allow_soft);
  const DeviceName& Name(int32_t pattern) const { return patterns_[static_cast<size_t>(pattern)]; }
  std::string Text(int32_t pattern) const { return Name(pattern).ToString(); }

  // The best device (index in the list) that matches `pattern` and whose type is in the bit set `types`; kNoDevice,
  // kNoKernel. Accelerators first, then the client's task, then the order of the list.
  int32_t Choose(int32_t pattern, uint32_t types);
  // The same, but any device of the task that `pattern` states will do, or of any task.
  int32_t ChooseSoftly(int32_t pattern, uint32_t types, bool any_task);

 private:
  int32_t Intern(const DeviceName& name);
  int32_t Search(const DeviceName& pattern, uint32_t types) const;
  // The devices that could match, best first: few where the pattern states a task or an id, however many there are.
  absl::Span<const int32_t> Candidates(const DeviceName& pattern) const;

  const DeviceList& devices_;
  std::vector<int32_t> order_;  // Devices, best first.
  // The same by task and id; and by one of them, with -1 for the other.
  HashMap<std::pair<int32_t, int32_t>, std::vector<int32_t>> by_numbers_;
  std::vector<DeviceName> patterns_;
  HashMap<std::string, int32_t> by_canonical_;
  HashMap<std::string, int32_t> by_text_;
  HashMap<std::tuple<int32_t, int32_t, bool>, int32_t> merged_;  // By both patterns, and whether softly.
  HashMap<std::pair<int32_t, uint32_t>, int32_t> chosen_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_DEVICE_CHOOSER_H_
