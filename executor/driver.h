#ifndef SLUICE_EXECUTOR_DRIVER_H_
#define SLUICE_EXECUTOR_DRIVER_H_

#include <cstdint>

namespace sluice {

// Which driver runs a graph.
enum class Driver : uint8_t {
  kAuto,    // A serial program if the graph has one and threads would not make it faster; else dataflow.
  kSerial,  // Serial programs only, with segments for graphs that wait: kCannotRun for other graphs.
  kDataflow,
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DRIVER_H_
