#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_OP_VALUES_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_OP_VALUES_H_

// Errors and values of plugin_op.h, which authors of plug-ins include.

#include <complex>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_api.h"

namespace sluice_op {

// Set before anything else of a plug-in runs. Hidden: each plug-in of a process has its own.
__attribute__((visibility("hidden"))) inline const SluiceApi* api = nullptr;

// --- Errors ------------------------------------------------------------------------------------------------------

// An error on its way to Sluice. Copies share it.
class Failure : public std::exception {
 public:
  explicit Failure(SluiceStatus* status) : held_(std::make_shared<Held>(status)) {}
  Failure(int32_t code, const std::string& text) : Failure(api->new_status(code, text.c_str())) {}
  const char* what() const noexcept override { return api->status_text(held_->status); }
  // Hands the error over; once for all copies. Later calls give another error, never NULL.
  SluiceStatus* Take() {
    SluiceStatus* const taken = std::exchange(held_->status, nullptr);
    return taken != nullptr ? taken : api->new_status(SLUICE_UNKNOWN, "an error that was handed over before");
  }

 private:
  struct Held {
    explicit Held(SluiceStatus* of) : status(of) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { api->delete_status(status); }
    SluiceStatus* status;
  };
  std::shared_ptr<Held> held_;
};

// Throws what is not NULL.
inline void Check(SluiceStatus* status) {
  if (status != nullptr) throw Failure(status);
}
[[noreturn]] inline void Fail(int32_t code, const std::string& text) { throw Failure(code, text); }
// About input `i`; `found` and `expected` are such as "[2,3]" and "a vector".
[[noreturn]] inline void FailInput(int i, const std::string& text, const std::string& found,
                                   const std::string& expected, int32_t code = SLUICE_INVALID_ARGUMENT) {
  throw Failure(api->new_input_status(code, i, text.c_str(), found.c_str(), expected.c_str()));
}

// What `work` throws, as a status for Sluice.
template <typename Work>
SluiceStatus* Guarded(Work&& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (Failure& failure) {
    return failure.Take();
  } catch (const std::bad_alloc&) {
    return api->new_status(SLUICE_RESOURCE_EXHAUSTED, "the kernel could not get the memory it needs");
  } catch (const std::exception& e) {
    return api->new_status(SLUICE_INTERNAL, e.what());
  } catch (...) {
    return api->new_status(SLUICE_INTERNAL, "an exception of unknown type");
  }
}

// --- Values ------------------------------------------------------------------------------------------------------

enum class Type : int32_t {};  // SLUICE_FLOAT, ...

template <typename T>
inline constexpr int32_t kTypeOf = 0;
template <>
inline constexpr int32_t kTypeOf<float> = SLUICE_FLOAT;
template <>
inline constexpr int32_t kTypeOf<double> = SLUICE_DOUBLE;
template <>
inline constexpr int32_t kTypeOf<int8_t> = SLUICE_INT8;
template <>
inline constexpr int32_t kTypeOf<int16_t> = SLUICE_INT16;
template <>
inline constexpr int32_t kTypeOf<int32_t> = SLUICE_INT32;
template <>
inline constexpr int32_t kTypeOf<int64_t> = SLUICE_INT64;
template <>
inline constexpr int32_t kTypeOf<uint8_t> = SLUICE_UINT8;
template <>
inline constexpr int32_t kTypeOf<uint16_t> = SLUICE_UINT16;
template <>
inline constexpr int32_t kTypeOf<uint32_t> = SLUICE_UINT32;
template <>
inline constexpr int32_t kTypeOf<uint64_t> = SLUICE_UINT64;
template <>
inline constexpr int32_t kTypeOf<bool> = SLUICE_BOOL;
template <>
inline constexpr int32_t kTypeOf<std::complex<float>> = SLUICE_COMPLEX64;
template <>
inline constexpr int32_t kTypeOf<std::complex<double>> = SLUICE_COMPLEX128;

// Sizes of dimensions, borrowed.
class Dims {
 public:
  Dims(const int64_t* data, size_t rank) : data_(data), rank_(rank) {}
  // Within one expression.
  Dims(std::initializer_list<int64_t> dims) : Dims(std::data(dims), dims.size()) {}
  Dims(const std::vector<int64_t>& dims) : data_(dims.data()), rank_(dims.size()) {}  // NOLINT: as calls need it.
  const int64_t* data() const { return data_; }
  size_t rank() const { return rank_; }
  int64_t operator[](size_t axis) const { return data_[axis]; }

 private:
  const int64_t* data_;
  size_t rank_;
};

// A shape whose rank or sizes may be unknown (-1).
struct Shape {
  bool has_rank = false;
  std::vector<int64_t> dims;

  static Shape Of(std::vector<int64_t> sizes) { return {true, std::move(sizes)}; }
};

inline Shape ShapeFrom(const SluiceShape& shape) {
  return shape.rank < 0 ? Shape() : Shape::Of(std::vector<int64_t>(shape.dims, shape.dims + shape.rank));
}

// A look at a tensor, whatever its type. Valid during the call.
class AnyView {
 public:
  explicit AnyView(const SluiceView& view) : view_(view) {}
  int32_t type() const { return view_.dtype; }
  Dims dims() const { return {view_.dims, static_cast<size_t>(view_.rank)}; }
  int rank() const { return view_.rank; }
  int64_t size() const { return view_.num_elements; }
  uint64_t bytes() const { return view_.num_bytes; }
  const void* data() const { return view_.data; }
  void* mutable_data() const { return view_.mutable_data; }

 protected:
  SluiceView view_;
};

// The elements of a tensor of T; of a const T where they are only read. A span: copying it copies no element.
template <typename T>
class View : public AnyView {
 public:
  explicit View(const SluiceView& view) : AnyView(view) {
    if (view.dtype == kTypeOf<std::remove_const_t<T>>) return;
    Fail(SLUICE_INTERNAL, "the kernel takes a tensor of dtype " + std::to_string(view.dtype) + " for another");
  }
  T* begin() const {
    if constexpr (std::is_const_v<T>) {
      return static_cast<T*>(view_.data);
    } else {
      return static_cast<T*>(view_.mutable_data);
    }
  }
  T* end() const { return begin() + size(); }
  T& operator[](int64_t i) const { return begin()[i]; }
};

// The same for strings.
class Strings : public AnyView {
 public:
  explicit Strings(const SluiceView& view) : AnyView(view) {
    if (view.dtype != SLUICE_STRING) Fail(SLUICE_INTERNAL, "the kernel takes a tensor for one of strings");
  }
  std::string_view operator[](int64_t i) const {
    const SluiceString text = api->string_at(view_.data, i);
    return {text.data, text.size};
  }
  // Of outputs only.
  void Set(int64_t i, std::string_view text) const {
    Check(api->set_string(view_.mutable_data, i, text.data(), text.size()));
  }
};

// A tensor that outlives the call: an attr, or an input that a kernel keeps. Copies share the elements.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(SluiceTensor* tensor) : tensor_(tensor, [](SluiceTensor* t) { api->delete_tensor(t); }) {}
  // Views are valid as long as the tensor or a copy of it: take none from a temporary.
  template <typename T>
  View<const T> view() const& {
    SluiceView view;
    api->view_tensor(tensor_.get(), &view);
    return View<const T>(view);
  }
  template <typename T>
  View<const T> view() const&& = delete;
  // Of what AllocateTemp gave, until something shares it.
  template <typename T>
  View<T> mutable_view() const& {
    SluiceView view;
    api->view_tensor(tensor_.get(), &view);
    if (view.mutable_data == nullptr && view.num_elements > 0) Fail(SLUICE_INTERNAL, "the tensor is not writable");
    return View<T>(view);
  }
  template <typename T>
  View<T> mutable_view() const&& = delete;
  SluiceTensor* handle() const { return tensor_.get(); }

 private:
  std::shared_ptr<SluiceTensor> tensor_;
};

}  // namespace sluice_op

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_OP_VALUES_H_
