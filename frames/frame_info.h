#ifndef SLUICE_FRAMES_FRAME_INFO_H_
#define SLUICE_FRAMES_FRAME_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "frames/pending_counts.h"

namespace sluice {

// Static facts of a frame, for all runs: the sizes of its tables, and the initial state of its iterations. Made by
// GraphView; immutable.
struct FrameInfo {
  std::string name;
  int32_t parent = -1;               // Index of the frame around it; -1 for the root.
  uint32_t ordinal = 0;              // Among the frames directly in its parent.
  uint32_t num_children = 0;         // Frames directly in this one.
  uint32_t parallel_iterations = 1;  // How many iterations may be live at once.
  uint32_t num_enters = 0;           // Values that must come, live or dead, before iteration 0 can end.
  uint32_t num_slots = 0;            // Outputs written in an iteration of this frame.
  uint32_t num_invariants = 0;       // Outputs of constant Enters into it.
  uint32_t num_next_iterations = 0;
  std::vector<uint32_t> exits;   // Items, in the order of NodeExtra::exit_number.
  PendingCounts::Layout layout;  // Of `counts`.
  PendingCounts counts;          // As an iteration starts.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_FRAME_INFO_H_
