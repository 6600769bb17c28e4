#ifndef SLUICE_KERNELS_MEMORY_ARENA_H_
#define SLUICE_KERNELS_MEMORY_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"

namespace sluice {

// Large blocks of host memory out of regions that come from the system in huge pages: best fit, neighbours that are
// free join at once. Memory goes back to the system in Trim() only, so that no step pays for page faults twice.
//
// Each block is preceded by a Header of 64 bytes that knows its neighbours. A region is a row of blocks without gaps
// that ends with a header of size 0.
//
// REQUIRES at the end: all blocks were freed. Thread-safe.
class Arena {
 public:
  struct Stats {
    size_t reserved_bytes = 0;    // Of all regions.
    size_t live_bytes = 0;        // In use, headers included.
    size_t high_water_bytes = 0;  // The most live bytes since the last trim.
    size_t num_regions = 0;
  };

  // Regions have at least `region_bytes`, and twice as much as the one before up to `max_region_bytes`.
  explicit Arena(size_t region_bytes = size_t{32} << 20, size_t max_region_bytes = size_t{256} << 20)
      : next_region_bytes_(region_bytes), max_region_bytes_(max_region_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // At least `bytes` bytes aligned to 64, or null when the system has no more.
  void* Allocate(size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // Needs no memory, so that it can be called when memory has run out.
  void Free(void* data) ABSL_LOCKS_EXCLUDED(mu_);

  // Touches every page of the free blocks, and of a first region if there is none, so that the next blocks cost no page
  // faults. Call it before times are measured. Takes milliseconds per region; the arena is locked meanwhile.
  void TouchFree() ABSL_LOCKS_EXCLUDED(mu_);

  // Gives regions without a live block back until those left hold a quarter more than what was in use at most since the
  // last trim. To be called between steps.
  void Trim() ABSL_LOCKS_EXCLUDED(mu_);
  Stats stats() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Header;
  struct Region {
    Header* first;
    size_t bytes;
  };
  // Smallest first, then lowest address: best fit packs towards the front.
  using FreeBlocks = std::set<std::pair<size_t, Header*>>;

  // An entry for a block that is not known yet; empty where there is no memory.
  static FreeBlocks::node_type NewEntry();
  bool HasRoomForRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AddRegion(size_t needed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cuts what is beyond `bytes` off the end of `block`, which is not in the set of free blocks.
  void Split(Header* block, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddFree(Header* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveFree(Header* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static bool IsEmpty(const Region& region);

  mutable Mutex mu_;
  FreeBlocks free_ ABSL_GUARDED_BY(mu_);
  std::vector<Region> regions_ ABSL_GUARDED_BY(mu_);
  Stats stats_ ABSL_GUARDED_BY(mu_);
  size_t next_region_bytes_ ABSL_GUARDED_BY(mu_);
  const size_t max_region_bytes_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MEMORY_ARENA_H_
