#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_NODE_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_NODE_H_

// What a plug-in sees of a node before it runs: the functions of SluiceApi over a SluiceNode.

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/shape.h"
#include "kernels/kernel_construction.h"
#include "kernels/plugin/plugin_api.h"

// A node, with the memory of what the plug-in was told of it. Lives for one call of the plug-in, on one thread.
struct SluiceNode {
  explicit SluiceNode(const sluice::KernelConstruction& made_from) : construction(made_from) {}

  // Keeps `value` as long as this lives.
  template <typename T>
  T& Keep(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    memory.push_back(kept);
    return *kept;
  }

  const sluice::KernelConstruction& construction;
  std::list<std::shared_ptr<void>> memory;
};

namespace sluice {

const char* NodeOp(SluiceNode* node) noexcept;
const char* NodeName(SluiceNode* node) noexcept;
int32_t NodeNumInputs(const SluiceNode* node) noexcept;
int32_t NodeNumOutputs(const SluiceNode* node) noexcept;
int32_t NodeInputType(const SluiceNode* node, int32_t i) noexcept;
int32_t NodeOutputType(const SluiceNode* node, int32_t i) noexcept;
SluiceStatus* NodeInputRange(const SluiceNode* node, const char* argument, int32_t* first, int32_t* count) noexcept;
SluiceStatus* NodeOutputRange(const SluiceNode* node, const char* argument, int32_t* first, int32_t* count) noexcept;
int32_t NodeHasAttr(const SluiceNode* node, const char* name) noexcept;
SluiceStatus* NodeGetAttr(SluiceNode* node, const char* name, int32_t kind, SluiceAttr* value) noexcept;

// `shape` as a plug-in sees it; borrows.
inline SluiceShape ShapeForPlugin(const PartialShape& shape) {
  return {shape.has_rank() ? int64_t{shape.rank()} : int64_t{-1}, shape.dims().data()};
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_NODE_H_
