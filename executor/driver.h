#ifndef SLUICE_EXECUTOR_DRIVER_H_
#define SLUICE_EXECUTOR_DRIVER_H_

#include <cstdint>

namespace sluice {

// Which driver runs a graph.
enum class Driver : uint8_t {
  kAuto,    // A serial program where the graph allows one and nothing would be won by threads; else dataflow.
  kSerial,  // Serial programs only, with segments for graphs that wait: kCannotRun for other graphs.
  kDataflow,
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DRIVER_H_
