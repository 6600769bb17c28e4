#include "tests/testing/block_count.h"

#include "rendezvous/frame_hash.h"

namespace {

thread_local int64_t blocks = 0;

}  // namespace

// What the compiler calls.
extern "C" void __sanitizer_cov_trace_pc();
extern "C" void __sanitizer_cov_trace_pc() { ++blocks; }

namespace sluice {

bool CountsBlocks() {
  const int64_t before = blocks;
  ProtocolHash("a text of some length");
  return blocks != before;
}

int64_t BlocksRun() { return blocks; }

}  // namespace sluice
