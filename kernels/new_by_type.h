#ifndef SLUICE_KERNELS_NEW_BY_TYPE_H_
#define SLUICE_KERNELS_NEW_BY_TYPE_H_

// The factories of rows whose kernels are class templates: K<T> for the C++ type T of input 0, one of a TypeList.
//
//   &NewByType<K, Types>            K<T>()
//   &NewByTypeWith<K, Types, Read>  K<T>(value) for the value that Read(construction) gives, or its error

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// The error that the row's dtypes and its C++ types do not agree: a fault of the table.
absl::Status NoSuchType(DType dtype);

template <template <typename> class K, typename Types>
absl::StatusOr<std::unique_ptr<Kernel>> NewByType(const KernelConstruction& construction) {
  std::unique_ptr<Kernel> made;
  DispatchDType<Types>(construction.input_type(0),
                       [&](auto type) { made = std::make_unique<K<typename decltype(type)::Type>>(); });
  if (made == nullptr) return NoSuchType(construction.input_type(0));
  return made;
}

template <template <typename> class K, typename Types, auto kRead>
absl::StatusOr<std::unique_ptr<Kernel>> NewByTypeWith(const KernelConstruction& construction) {
  const auto value = kRead(construction);
  if (!value.ok()) return value.status();
  std::unique_ptr<Kernel> made;
  DispatchDType<Types>(construction.input_type(0),
                       [&](auto type) { made = std::make_unique<K<typename decltype(type)::Type>>(*value); });
  if (made == nullptr) return NoSuchType(construction.input_type(0));
  return made;
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_NEW_BY_TYPE_H_
