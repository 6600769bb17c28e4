#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_OP_CALLS_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_OP_CALLS_H_

// The arguments of kernels and shape functions of plugin_op.h. Objects of Sluice: valid during the call, on one thread
// at a time. Functions throw Failure.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_api.h"
#include "kernels/plugin/plugin_op_values.h"

namespace sluice_op {

// How an attr of type T is asked for and read; T as in Node::Attr.
template <typename T>
struct AttrReader;

template <typename T, typename Raw, int32_t kOfKind>
struct PlainAttrReader {
  static constexpr int32_t kKind = kOfKind;
  static T Read(const SluiceAttr& attr, int64_t i) { return static_cast<T>(static_cast<const Raw*>(attr.values)[i]); }
};
template <>
struct AttrReader<int64_t> : PlainAttrReader<int64_t, int64_t, SLUICE_ATTR_INT> {};
template <>
struct AttrReader<float> : PlainAttrReader<float, float, SLUICE_ATTR_FLOAT> {};
template <>
struct AttrReader<bool> : PlainAttrReader<bool, uint8_t, SLUICE_ATTR_BOOL> {};
template <>
struct AttrReader<Type> : PlainAttrReader<Type, int32_t, SLUICE_ATTR_TYPE> {};
template <>
struct AttrReader<std::string> {
  static constexpr int32_t kKind = SLUICE_ATTR_STRING;
  static std::string Read(const SluiceAttr& attr, int64_t i) {
    const SluiceString& text = static_cast<const SluiceString*>(attr.values)[i];
    return {text.data, text.size};
  }
};
template <>
struct AttrReader<Shape> {
  static constexpr int32_t kKind = SLUICE_ATTR_SHAPE;
  static Shape Read(const SluiceAttr& attr, int64_t i) {
    return ShapeFrom(static_cast<const SluiceShape*>(attr.values)[i]);
  }
};
template <>
struct AttrReader<Tensor> {
  static constexpr int32_t kKind = SLUICE_ATTR_TENSOR;
  static Tensor Read(const SluiceAttr& attr, int64_t i) {
    SluiceTensor* kept = nullptr;
    Check(api->keep_tensor(static_cast<SluiceTensor* const*>(attr.values)[i], &kept));
    return Tensor(kept);
  }
};

// The shapes and attrs that are known of a node before it runs.
class Node {
 public:
  explicit Node(SluiceNode* node) : node_(node) {}

  std::string op() const { return api->node_op(node_); }
  // A kernel that is made with it is this node's alone.
  std::string name() const { return api->node_name(node_); }
  int num_inputs() const { return api->num_inputs(node_); }
  int num_outputs() const { return api->num_outputs(node_); }
  int32_t input_type(int i) const { return api->input_type(node_, i); }
  int32_t output_type(int i) const { return api->output_type(node_, i); }
  // Inputs [first, first + second) are the argument called `name`.
  std::pair<int, int> InputRange(const std::string& name) const {
    int32_t first = 0;
    int32_t count = 0;
    Check(api->input_range(node_, name.c_str(), &first, &count));
    return {first, count};
  }
  std::pair<int, int> OutputRange(const std::string& name) const {
    int32_t first = 0;
    int32_t count = 0;
    Check(api->output_range(node_, name.c_str(), &first, &count));
    return {first, count};
  }
  bool HasAttr(const std::string& name) const { return api->has_attr(node_, name.c_str()) != 0; }
  // T: int64_t, float, bool, std::string, Type, Shape, Tensor, or a std::vector of these.
  template <typename T>
  T Attr(const std::string& name) const {
    if constexpr (IsVector<T>::value) {
      using Reader = AttrReader<typename T::value_type>;
      const SluiceAttr attr = Get(name, Reader::kKind + SLUICE_ATTR_LIST);
      T values;
      for (int64_t i = 0; i < attr.count; ++i) values.push_back(Reader::Read(attr, i));
      return values;
    } else {
      return AttrReader<T>::Read(Get(name, AttrReader<T>::kKind), 0);
    }
  }
  SluiceNode* handle() const { return node_; }

 private:
  template <typename T>
  struct IsVector : std::false_type {};
  template <typename T>
  struct IsVector<std::vector<T>> : std::true_type {};

  SluiceAttr Get(const std::string& name, int32_t kind) const {
    SluiceAttr attr{};
    Check(api->get_attr(node_, name.c_str(), kind, &attr));
    return attr;
  }

  SluiceNode* node_;
};

// The shapes around one node, for shape functions.
class Shapes {
 public:
  explicit Shapes(SluiceShapes* shapes) : shapes_(shapes) {}

  Shape input(int i) const {
    SluiceShape shape{};
    Check(api->input_shape(shapes_, i, &shape));
    return ShapeFrom(shape);
  }
  // The elements of a small integer input, SLUICE_UNKNOWN_VALUE where they are not known. False: nothing is known.
  bool InputValue(int i, std::vector<int64_t>* elements) const {
    SluiceAttr value{};
    if (api->input_value(shapes_, i, &value) == 0) return false;
    const auto* const first = static_cast<const int64_t*>(value.values);
    elements->assign(first, first + value.count);
    return true;
  }
  void Set(int i, const Shape& shape) const {
    const SluiceShape plain = {shape.has_rank ? static_cast<int64_t>(shape.dims.size()) : -1, shape.dims.data()};
    Check(api->set_shape(shapes_, i, &plain));
  }
  void Pass(int in, int out) const { Set(out, input(in)); }
  // See set_same_shape and set_broadcast_shape in plugin_api.h.
  void SetSame(int out, int a, int b) const { Check(api->set_same_shape(shapes_, out, a, b)); }
  void SetBroadcast(int out, int a, int b) const { Check(api->set_broadcast_shape(shapes_, out, a, b)); }

 private:
  SluiceShapes* shapes_;
};

// One call of a kernel.
class Call {
 public:
  explicit Call(SluiceCall* call) : call_(call) {}

  int num_inputs() const { return api->call_num_inputs(call_); }
  int num_outputs() const { return api->call_num_outputs(call_); }
  AnyView any_input(int i) const {
    SluiceView view;
    Check(api->input(call_, i, &view));
    return AnyView(view);
  }
  template <typename T>
  View<const T> input(int i) const {
    SluiceView view;
    Check(api->input(call_, i, &view));
    return View<const T>(view);
  }
  Strings strings(int i) const {
    SluiceView view;
    Check(api->input(call_, i, &view));
    return Strings(view);
  }
  Tensor KeepInput(int i) const {
    SluiceTensor* kept = nullptr;
    Check(api->keep_input(call_, i, &kept));
    return Tensor(kept);
  }

  bool IsOutputUsed(int i) const { return api->is_output_used(call_, i) != 0; }
  template <typename T>
  View<T> Allocate(int i, Dims dims) const {
    return View<T>(AllocateAny(i, dims));
  }
  Strings AllocateStrings(int i, Dims dims) const { return Strings(AllocateAny(i, dims)); }
  // In the memory of the first of these inputs that nothing else needs; views of it stay valid.
  template <typename T>
  View<T> Forward(int i, Dims dims, std::initializer_list<int32_t> candidates) const {
    SluiceView view;
    Check(api->forward_or_allocate(call_, i, static_cast<int32_t>(dims.rank()), dims.data(), candidates.begin(),
                                   static_cast<int32_t>(candidates.size()), &view));
    return View<T>(view);
  }
  template <typename T>
  void SetScalar(int i, T value) const {
    Allocate<T>(i, Dims(nullptr, 0))[0] = value;
  }
  // Memory for the kernel's own use, or for SetOutput.
  template <typename T>
  Tensor AllocateTemp(Dims dims) const {
    SluiceTensor* made = nullptr;
    Check(api->allocate_temp(call_, kTypeOf<T>, static_cast<int32_t>(dims.rank()), dims.data(), &made));
    return Tensor(made);
  }
  void SetOutput(int i, const Tensor& tensor) const { Check(api->set_output(call_, i, tensor.handle())); }
  void PassInput(int out, int in) const { Check(api->pass_input(call_, out, in)); }

  // `work(begin, end)` for parts of [0, total), on several threads where that pays.
  template <typename Work>
  void ParallelFor(int64_t total, double unit_ns, Work&& work) const {
    using Callable = std::remove_reference_t<Work>;
    const auto part = [](void* data, int64_t begin, int64_t end) {
      return Guarded([&] { (*static_cast<Callable*>(data))(begin, end); });
    };
    Check(api->parallel_for(call_, total, unit_ns, part, const_cast<void*>(static_cast<const void*>(&work))));
  }
  bool IsCancelled() const { return api->is_cancelled(call_) != 0; }
  int64_t step_id() const { return api->step_id(call_); }
  int64_t iteration() const { return api->iteration(call_); }
  SluiceCall* handle() const { return call_; }

 protected:
  SluiceView AllocateAny(int i, Dims dims) const {
    SluiceView view;
    Check(api->allocate_output(call_, i, static_cast<int32_t>(dims.rank()), dims.data(), &view));
    return view;
  }

  SluiceCall* call_;
};

// A call of an asynchronous kernel, which ends with Finish or Fail: on any thread, perhaps after ComputeAsync has
// returned. One that is destroyed before ends with an error.
class AsyncCall : public Call {
 public:
  AsyncCall(SluiceCall* call, SluiceDone done) : Call(call), done_(done) {}
  // For Kernel: an object that does not end the call when it is destroyed, but leaves its number in `*dropped`. The
  // object it is moved into ends the call like any other.
  AsyncCall(SluiceCall* call, SluiceDone done, SluiceDone* dropped) : Call(call), done_(done), dropped_(dropped) {}
  AsyncCall(AsyncCall&& other) noexcept : Call(other.call_), done_(std::exchange(other.done_, 0)) {}
  AsyncCall& operator=(AsyncCall&&) = delete;
  ~AsyncCall() {
    if (done_ == 0) return;
    if (dropped_ != nullptr) {
      *dropped_ = done_;
    } else {
      Finish(NoAnswer());
    }
  }

  void Finish(SluiceStatus* status = nullptr) {
    const SluiceDone done = std::exchange(done_, 0);
    api->delete_status(api->finish(done, status));
  }
  void FinishWith(Failure failure) { Finish(failure.Take()); }
  // See on_cancel and off_cancel in plugin_api.h.
  bool OnCancel(void (*cancel)(void* data), void* data, int64_t* token) const {
    return api->on_cancel(call_, cancel, data, token) != 0;
  }
  bool OffCancel(int64_t token) const { return api->off_cancel(call_, token) != 0; }
  SluiceDone done() const { return done_; }

  // The error of a call that is dropped.
  static SluiceStatus* NoAnswer() {
    return api->new_status(SLUICE_INTERNAL, "the kernel has dropped the call without an answer");
  }

 private:
  SluiceDone done_;                // 0: over.
  SluiceDone* dropped_ = nullptr;  // Never moved.
};

}  // namespace sluice_op

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_OP_CALLS_H_
