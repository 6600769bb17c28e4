#ifndef SLUICE_GRAPH_VALUE_DEVICE_CONTEXT_H_
#define SLUICE_GRAPH_VALUE_DEVICE_CONTEXT_H_

#include "graph/value/counted.h"

namespace sluice {

// Whatever a device needs to know about work queued on it (a CUDA stream, say): opaque to all who pass it on, made and
// understood by the device in kernels. Counted. Thread-safety: as the device says.
class DeviceContext : public Counted {};

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_DEVICE_CONTEXT_H_
