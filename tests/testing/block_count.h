#ifndef SLUICE_TESTS_TESTING_BLOCK_COUNT_H_
#define SLUICE_TESTS_TESTING_BLOCK_COUNT_H_

// Counts the basic blocks of our own code that run: a measure of work that is the same on every machine and however
// busy it is, and quick enough for graphs of thousands of nodes. Only in builds with --config=counted, in which the
// compiler puts a call into each block of graph, frames, rendezvous and executor; kernels and libraries do not count,
// but what is inlined from their headers does.

#include <cstdint>

namespace sluice {

// Whether this build counts.
bool CountsBlocks();
// The blocks that this thread has run so far.
int64_t BlocksRun();

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_BLOCK_COUNT_H_
