#ifndef SLUICE_GRAPH_VALUE_COUNTED_H_
#define SLUICE_GRAPH_VALUE_COUNTED_H_

// Intrusive reference counts for what tensors point to: resources, handles, variants. 8 bytes a pointer, and a null
// pointer is all zero bytes, which is what fresh tensor memory holds.

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace sluice {

// Base of counted objects. Starts with a count of 1, which MakeCounted hands to a CountedPtr.
// Thread-safety: the count from any thread; the rest as the derived class says.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;

  void Ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: the caller holds a reference already.
  void Unref() const {
    // Acquire-release: accesses of other holders happen before the end. A sole holder needs no read-modify-write.
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<Counted*>(this)->Dispose();
    }
  }
  // Acquire: accesses of former holders happen before those of the only one.
  bool RefCountIsOne() const { return refs_.load(std::memory_order_acquire) == 1; }

 protected:
  // Called once, when the last reference is gone. Ends this object, at once or later.
  virtual void Dispose() { std::unique_ptr<Counted> ended(this); }

 private:
  mutable std::atomic<int32_t> refs_{1};
};

// A reference to a T, or null. Thread-safety: like a raw pointer.
template <typename T>
class CountedPtr {
 public:
  CountedPtr() = default;
  // Takes over one reference.
  static CountedPtr Adopt(T* object) {
    CountedPtr pointer;
    pointer.object_ = object;
    return pointer;
  }
  // Adds a reference to `object`, which may be null.
  static CountedPtr Share(T* object) {
    if (object != nullptr) object->Ref();
    return Adopt(object);
  }
  CountedPtr(const CountedPtr& other) : object_(other.object_) {
    if (object_ != nullptr) object_->Ref();
  }
  CountedPtr(CountedPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  // From a pointer to a derived type.
  template <typename U, typename = std::enable_if_t<std::is_convertible<U*, T*>::value>>
  CountedPtr(CountedPtr<U> other) : object_(other.release()) {}  // NOLINT(google-explicit-constructor)
  CountedPtr& operator=(CountedPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~CountedPtr() {
    if (object_ != nullptr) object_->Unref();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Gives the reference to the caller.
  T* release() { return std::exchange(object_, nullptr); }

  friend bool operator==(const CountedPtr& a, const CountedPtr& b) { return a.object_ == b.object_; }
  friend bool operator!=(const CountedPtr& a, const CountedPtr& b) { return a.object_ != b.object_; }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
CountedPtr<T> MakeCounted(Args&&... args) {
  return CountedPtr<T>::Adopt(std::make_unique<T>(std::forward<Args>(args)...).release());
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_COUNTED_H_
