#ifndef SLUICE_KERNELS_NEW_KERNEL_H_
#define SLUICE_KERNELS_NEW_KERNEL_H_

// The factories of rows. If none of them fits, write a function of the same form; for kernels chosen by dtype see
// new_by_type.h.
//
//   &New<K>                K::Make(construction) where K has that, else K()
//   &NewWith<K, Read>      K(value) for the value that Read(construction) gives, or its error
//   FromAttr<K, T>("name") K(value) for the attr of that name and type
//   &Call<F>               a kernel without attrs: a function

#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_row.h"

namespace sluice {

namespace new_kernel_internal {
template <typename K, typename = void>
struct HasMake : std::false_type {};
template <typename K>
struct HasMake<K, std::void_t<decltype(K::Make(std::declval<const KernelConstruction&>()))>> : std::true_type {};

// A kernel without attrs: one function, stateless and so thread-safe.
template <absl::Status (*kCompute)(KernelContext& context)>
class FunctionKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override { return kCompute(context); }
};
}  // namespace new_kernel_internal

template <typename K>
absl::StatusOr<std::unique_ptr<Kernel>> New(const KernelConstruction& construction) {
  if constexpr (new_kernel_internal::HasMake<K>::value) {
    return K::Make(construction);
  } else {
    return std::make_unique<K>();
  }
}

// `kRead`: a function from a KernelConstruction to a StatusOr.
template <typename K, auto kRead>
absl::StatusOr<std::unique_ptr<Kernel>> NewWith(const KernelConstruction& construction) {
  auto value = kRead(construction);
  if (!value.ok()) return std::move(value).status();
  return std::make_unique<K>(*std::move(value));
}

// For FromAttr; `data` is the attr's name.
template <typename K, typename T>
absl::StatusOr<std::unique_ptr<Kernel>> NewFromAttr(const KernelConstruction& construction, const void* data) {
  absl::StatusOr<T> value = construction.Get<T>(static_cast<const char*>(data));
  if (!value.ok()) return std::move(value).status();
  return std::make_unique<K>(*std::move(value));
}

template <typename K, typename T>
constexpr KernelFactory FromAttr(const char* attr) {
  return KernelFactory(&NewFromAttr<K, T>, attr);
}

template <absl::Status (*kCompute)(KernelContext& context)>
absl::StatusOr<std::unique_ptr<Kernel>> Call(const KernelConstruction&) {
  return std::make_unique<new_kernel_internal::FunctionKernel<kCompute>>();
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_NEW_KERNEL_H_
