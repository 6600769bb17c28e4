#ifndef SLUICE_GRAPH_VALUE_DEVICE_CONTEXT_H_
#define SLUICE_GRAPH_VALUE_DEVICE_CONTEXT_H_

#include "graph/value/counted.h"

namespace sluice {

// What a device needs to know about work queued on it (a CUDA stream, say): opaque to code that passes it on, made and
// used by the device in kernels. Counted. Thread-safety: as the device says.
class DeviceContext : public Counted {};

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_DEVICE_CONTEXT_H_
