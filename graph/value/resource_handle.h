#ifndef SLUICE_GRAPH_VALUE_RESOURCE_HANDLE_H_
#define SLUICE_GRAPH_VALUE_RESOURCE_HANDLE_H_

// The elements of resource tensors: names of things that live outside the graph's edges (variables, tables, queues).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/value/counted.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// Base of objects that handles refer to. A derived class T has `static constexpr absl::string_view kTypeName` and
// passes it to this constructor: handles recognise a T by that name.
// Thread-safety: what T says; it is reached from many runs at once.
class Resource : public Counted {
 public:
  absl::string_view type_name() const { return type_name_; }
  // For people: what it is and how large.
  virtual std::string DebugString() const { return std::string(type_name_); }
  // Bytes that it keeps, for memory reports.
  virtual int64_t MemoryUsed() const { return 0; }

 protected:
  // `type_name` lives for ever.
  explicit Resource(absl::string_view type_name) : type_name_(type_name) {}

 private:
  const absl::string_view type_name_;
};

// The content of a handle. `resource` is set if the handle keeps its resource alive; else it is looked up by container,
// type and name.
struct ResourceHandleData {
  struct Element {
    DType dtype = DType::kInvalid;
    PartialShape shape;
  };
  std::string device;
  std::string container;
  std::string name;
  uint64_t hash_code = 0;
  std::string maybe_type_name;
  std::vector<Element> dtypes_and_shapes;
  CountedPtr<Resource> resource;
};

// A counted pointer to handle data that never changes, or null (a fresh tensor's). One element of a resource tensor:
// 8 bytes, null is all zero. Thread-safety: like a raw pointer.
class ResourceHandle {
 public:
  ResourceHandle() = default;
  static ResourceHandle Make(ResourceHandleData data) {
    ResourceHandle handle;
    handle.shared_ = MakeCounted<const Shared>(std::move(data));
    return handle;
  }

  bool has_value() const { return static_cast<bool>(shared_); }
  // REQUIRES: has_value().
  const ResourceHandleData& data() const { return shared_->data; }
  // The resource that the handle holds if it is a T, else null. Lives as long as this handle.
  template <typename T>
  T* Get() const {
    Resource* const resource = has_value() ? data().resource.get() : nullptr;
    return resource != nullptr && resource->type_name() == T::kTypeName ? static_cast<T*>(resource) : nullptr;
  }
  // "resource localhost/weights of type Var", for messages.
  std::string DebugString() const;

 private:
  struct Shared final : public Counted {
    explicit Shared(ResourceHandleData d) : data(std::move(d)) {}
    const ResourceHandleData data;
  };

  CountedPtr<const Shared> shared_;
};

static_assert(sizeof(ResourceHandle) == 8, "an element of a resource tensor is one pointer");

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_RESOURCE_HANDLE_H_
