#ifndef SLUICE_GRAPH_VALUE_VARIANT_H_
#define SLUICE_GRAPH_VALUE_VARIANT_H_

// The elements of variant tensors: values of a type that only some kernels know (TensorList and friends).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/counted.h"

namespace sluice {

class Tensor;

// Base of the values. A derived class T has `static constexpr absl::string_view kTypeName`, the name that TensorFlow
// writes to files, and passes it to this constructor. Shared by tensors, hence constant unless RefCountIsOne(). Lists
// may hold lists to any depth: they are destroyed one after another, not nested, so no chain exhausts the stack.
// Thread-safety: constant access from any thread.
class VariantObject : public Counted {
 public:
  ~VariantObject() override;

  absl::string_view type_name() const { return type_name_; }
  // Writes what a VariantCodec needs to make an equal value. UNIMPLEMENTED for values that cannot be encoded.
  virtual absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const = 0;
  // For people: what it is and how large.
  virtual std::string DebugString() const { return std::string(type_name_); }

  // Values alive in this process. For leak tests.
  static int64_t LiveCount();

 protected:
  // `type_name` lives for ever.
  explicit VariantObject(absl::string_view type_name);
  void Dispose() final;

 private:
  const absl::string_view type_name_;
  VariantObject* next_ended_ = nullptr;  // While this waits for its end: see Dispose.
};

// A counted pointer to a value, or null (a fresh tensor's). One element of a variant tensor: 8 bytes, null is all zero.
// Thread-safety: like a raw pointer.
class Variant {
 public:
  Variant() = default;
  explicit Variant(CountedPtr<VariantObject> object) : object_(std::move(object)) {}

  bool has_value() const { return static_cast<bool>(object_); }
  // "" for null.
  absl::string_view type_name() const { return has_value() ? object_->type_name() : absl::string_view(); }
  const VariantObject* object() const { return object_.get(); }
  // The value if it is a T, else null.
  template <typename T>
  const T* Get() const {
    return type_name() == T::kTypeName ? static_cast<const T*>(object_.get()) : nullptr;
  }
  // The value for changes in place; null unless it is a T without other holders.
  template <typename T>
  T* GetMutable() {
    return type_name() == T::kTypeName && object_->RefCountIsOne() ? static_cast<T*>(object_.get()) : nullptr;
  }

 private:
  CountedPtr<VariantObject> object_;
};

static_assert(sizeof(Variant) == 8, "an element of a variant tensor is one pointer");

// Makes values from files. Rows of constant tables for decoders.
struct VariantCodec {
  absl::string_view type_name;
  absl::StatusOr<Variant> (*decode)(absl::string_view metadata, absl::Span<Tensor> tensors);
};

// The codec of `type_name`, or null.
const VariantCodec* FindVariantCodec(absl::Span<const VariantCodec> codecs, absl::string_view type_name);

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_VARIANT_H_
