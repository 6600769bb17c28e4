#ifndef SLUICE_GRAPH_BASE_LIMITS_H_
#define SLUICE_GRAPH_BASE_LIMITS_H_

// Limits of a load. The host can set all; exceeding one is RESOURCE_EXHAUSTED, naming it.

#include <cstdint>

namespace sluice {

struct LoadLimits {
  int64_t max_file_bytes = (int64_t{1} << 31) - 1;  // One protobuf message.
  int max_nesting = 100;                            // Messages inside messages, functions inside attrs.
  int64_t max_nodes = 16'000'000;                   // Nodes of one graph, before functions are expanded.
  int64_t max_expanded_nodes = 1'000'000;           // Nodes that functions may add; counted before expanding.
  int64_t max_name_bytes = 4096;
  int64_t max_attrs_per_node = 256;
  int64_t max_inputs_per_node = 65'536;
  int max_call_depth = 64;
  int max_frame_depth = 64;
  int64_t max_tensor_bytes = int64_t{6} << 30;  // Constants, counted unpacked. 25 % of a 24 GiB host.
  int64_t max_parallel_iterations = 1024;
  // Errors of a load that are kept with all their facts; further ones are counted.
  int64_t max_kept_errors = 50;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_LIMITS_H_
