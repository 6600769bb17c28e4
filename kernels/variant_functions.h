#ifndef SLUICE_KERNELS_VARIANT_FUNCTIONS_H_
#define SLUICE_KERNELS_VARIANT_FUNCTIONS_H_

// Functions on variants of types that kernels do not know: add them (AddN) and make zeros of their kind (ZerosLike), as
// gradients through lists need.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/variant.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The functions of one type of values. Called from any thread, inside of a kernel of `context`'s run, which fails with
// their error or exception.
struct VariantFunctions {
  std::string type_name;  // VariantObject::type_name of the values.
  // a + b, both of this type. Null: cannot be added.
  std::function<absl::StatusOr<Variant>(const KernelContext& context, const VariantObject& a, const VariantObject& b)>
      add;
  // The zero of addition: added to `value` it gives `value`. May be null.
  std::function<absl::StatusOr<Variant>(const KernelContext& context, const VariantObject& value)> zeros_like;
};

// Registers the functions of a type, for ever and for all sessions of the process. kHostKernel if it has some already,
// or no name. Thread-safe.
absl::Status AddVariantFunctions(VariantFunctions functions);

// a + b. kOpBroken (INTERNAL, as in TensorFlow) for missing values, values of two types, and types that cannot be
// added.
absl::StatusOr<Variant> AddVariants(const KernelContext& context, const Variant& a, const Variant& b);
// The same for a zero of the kind of `value`.
absl::StatusOr<Variant> ZerosLikeVariant(const KernelContext& context, const Variant& value);

}  // namespace sluice

#endif  // SLUICE_KERNELS_VARIANT_FUNCTIONS_H_
