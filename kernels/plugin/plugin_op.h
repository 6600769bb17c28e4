#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_OP_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_OP_H_

// For authors of plug-ins in C++17: plugin_api.h with types and without bookkeeping. It needs this file and that one,
// and no library. tools/examples/plugin_op.cc is a whole plug-in.
//
//   struct Twice {
//     void Compute(sluice_op::Call& call) const {
//       const auto x = call.input<float>(0);
//       const auto y = call.Forward<float>(0, x.dims(), {0});
//       call.ParallelFor(x.size(), /*unit_ns=*/1, [&](int64_t begin, int64_t end) {
//         for (int64_t i = begin; i < end; ++i) y[i] = 2 * x[i];
//       });
//     }
//   };
//   void Add(sluice_op::Registration& r) {
//     r.Add(sluice_op::Op("Twice").Input("x: float").Output("y: float"));
//     r.Add(sluice_op::Kernel<Twice>("Twice"));
//   }
//   SLUICE_PLUGIN("twice", "1.0", Add)
//
// A kernel class K is made by K(Node&), else K(); it has `void Compute(Call&) const`, or for asynchronous kernels `void
// ComputeAsync(AsyncCall) const`. Failures are thrown as Failure, by the functions here or by the plug-in (Fail), and
// become the node's error; nothing is thrown across the border.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_api.h"
#include "kernels/plugin/plugin_op_calls.h"
#include "kernels/plugin/plugin_op_gradients.h"
#include "kernels/plugin/plugin_op_values.h"

namespace sluice_op {

using ShapeFunction = void (*)(Node& node, Shapes& shapes);
using GradientFunction = void (*)(Node& node, Gradients& gradients);

// An op: specs as in TensorFlow's REGISTER_OP.
class Op {
 public:
  explicit Op(std::string name) : name_(std::move(name)) {}
  Op& Input(const char* spec) { return Push(spec, &inputs_); }
  Op& Output(const char* spec) { return Push(spec, &outputs_); }
  Op& Attr(const char* spec) { return Push(spec, &attrs_); }
  Op& Stateful() { return Flag(SLUICE_OP_STATEFUL); }
  Op& Commutative() { return Flag(SLUICE_OP_COMMUTATIVE); }
  template <ShapeFunction kFunction>
  Op& Shapes() {
    shapes_ = [](void*, SluiceNode* node, SluiceShapes* shapes) {
      return Guarded([&] {
        Node of(node);
        sluice_op::Shapes around(shapes);
        kFunction(of, around);
      });
    };
    return *this;
  }
  template <GradientFunction kFunction>
  Op& Gradient() {
    gradient_ = [](void*, SluiceNode* node, SluiceGradients* gradients) {
      return Guarded([&] {
        Node of(node);
        Gradients around(gradients);
        kFunction(of, around);
      });
    };
    return *this;
  }
  // Borrows this. The function is null where the op has no gradient.
  SluiceGradientDef gradient() const { return {sizeof(SluiceGradientDef), name_.c_str(), gradient_, nullptr}; }
  // Borrows this.
  SluiceOpDef def() const {
    SluiceOpDef def{};
    def.struct_size = sizeof(def);
    def.name = name_.c_str();
    def.inputs = inputs_.data();
    def.outputs = outputs_.data();
    def.attrs = attrs_.data();
    def.num_inputs = static_cast<int32_t>(inputs_.size());
    def.num_outputs = static_cast<int32_t>(outputs_.size());
    def.num_attrs = static_cast<int32_t>(attrs_.size());
    def.flags = flags_;
    def.shapes = shapes_;
    return def;
  }

 private:
  Op& Push(const char* spec, std::vector<const char*>* specs) {
    specs->push_back(spec);
    return *this;
  }
  Op& Flag(uint32_t flag) {
    flags_ |= flag;
    return *this;
  }

  std::string name_;
  std::vector<const char*> inputs_, outputs_, attrs_;
  uint32_t flags_ = 0;
  SluiceStatus* (*shapes_)(void*, SluiceNode*, SluiceShapes*) = nullptr;
  SluiceStatus* (*gradient_)(void*, SluiceNode*, SluiceGradients*) = nullptr;
};

// A kernel of class K for `op`; see the top of this file.
template <typename K>
class Kernel {
 public:
  explicit Kernel(const char* op) { def_.op = op; }
  Kernel& Types(const char* attr, std::vector<int32_t> dtypes) {
    types_.emplace_back(attr, std::move(dtypes));
    return *this;
  }
  Kernel& Label(const char* label) { return Set(&(def_.label = label)); }
  Kernel& Priority(int32_t priority) { return Set(&(def_.priority = priority)); }
  Kernel& Cost(int32_t cost) { return Set(&(def_.cost = cost)); }
  Kernel& Sharing(int32_t sharing) { return Set(&(def_.sharing = sharing)); }
  Kernel& HostMemory(const char* argument) {
    host_args_.push_back(argument);
    return *this;
  }
  SluiceStatus* AddTo(SluiceRegistration* registration) const {
    SluiceKernelDef def = def_;
    std::vector<SluiceTypes> types;
    for (const auto& [attr, dtypes] : types_)
      types.push_back({attr, dtypes.data(), static_cast<int32_t>(dtypes.size())});
    def.struct_size = sizeof(def);
    def.types = types.data();
    def.num_types = static_cast<int32_t>(types.size());
    def.host_args = host_args_.data();
    def.num_host_args = static_cast<int32_t>(host_args_.size());
    def.create = &Create;
    def.destroy = [](void* kernel) { std::unique_ptr<K>(static_cast<K*>(kernel)).reset(); };
    SetCompute(&def, std::integral_constant<bool, IsAsync<K>::value>());
    return api->add_kernel(registration, &def);
  }

 private:
  template <typename T, typename = void>
  struct IsAsync : std::false_type {};
  template <typename T>
  struct IsAsync<T, std::void_t<decltype(&T::ComputeAsync)>> : std::true_type {};

  template <typename T>
  Kernel& Set(T*) {
    return *this;
  }
  static SluiceStatus* Create(void*, SluiceNode* node, void** kernel) {
    return Guarded([&] {
      if constexpr (std::is_constructible_v<K, Node&>) {
        Node of(node);
        *kernel = std::make_unique<K>(of).release();
      } else {
        *kernel = std::make_unique<K>().release();
      }
    });
  }
  static void SetCompute(SluiceKernelDef* def, std::false_type) {
    def->compute = [](void* kernel, SluiceCall* handle) {
      return Guarded([&] {
        Call call(handle);
        static_cast<const K*>(kernel)->Compute(call);
      });
    };
  }
  // An exception of the kernel before it has handed the call on becomes the call's error.
  static void SetCompute(SluiceKernelDef* def, std::true_type) {
    def->compute_async = [](void* kernel, SluiceCall* handle, SluiceDone done) {
      SluiceDone dropped = 0;
      SluiceStatus* const thrown =
          Guarded([&] { static_cast<const K*>(kernel)->ComputeAsync(AsyncCall(handle, done, &dropped)); });
      if (dropped == 0) return api->delete_status(thrown);  // The call has ended, or ends where it was handed on to.
      api->delete_status(api->finish(dropped, thrown != nullptr ? thrown : AsyncCall::NoAnswer()));
    };
  }

  SluiceKernelDef def_{};
  std::vector<std::pair<const char*, std::vector<int32_t>>> types_;
  std::vector<const char*> host_args_;
};

// Where a plug-in's function adds its ops and kernels: ops before their kernels.
class Registration {
 public:
  explicit Registration(SluiceRegistration* registration) : registration_(registration) {}
  void Add(const Op& op) const {
    const SluiceOpDef def = op.def();
    Check(api->add_op(registration_, &def));
    const SluiceGradientDef gradient = op.gradient();
    if (gradient.gradient != nullptr) Check(api->add_gradient(registration_, &gradient));
  }
  template <typename K>
  void Add(const Kernel<K>& kernel) const {
    Check(kernel.AddTo(registration_));
  }
  SluiceRegistration* handle() const { return registration_; }

 private:
  SluiceRegistration* registration_;
};

// What SLUICE_PLUGIN exports.
template <void (*kAdd)(Registration& registration)>
constexpr SluicePlugin MakePlugin(const char* name, const char* version) {
  return {SLUICE_PLUGIN_MAGIC,
          SLUICE_PLUGIN_MAJOR,
          SLUICE_PLUGIN_MINOR,
          SLUICE_PLUGIN_LAYOUT,
          sizeof(SluicePlugin),
          name,
          version,
          [](const SluiceApi* functions, SluiceRegistration* handle) {
            if (api == nullptr) api = functions;  // Threads may be at work with it since an earlier load.
            return Guarded([&] {
              Registration registration(handle);
              kAdd(registration);
            });
          }};
}

}  // namespace sluice_op

// Makes a library a plug-in; once in each, outside of namespaces. `add`: void(sluice_op::Registration&).
#define SLUICE_PLUGIN(name, version, add)                           \
  extern "C" SLUICE_PLUGIN_EXPORT const SluicePlugin sluice_plugin; \
  const SluicePlugin sluice_plugin = ::sluice_op::MakePlugin<&add>(name, version);

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_OP_H_
