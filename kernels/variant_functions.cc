#include "kernels/variant_functions.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"

namespace sluice {
namespace {

// The functions of all types of the process. Never destroyed: kernels may run until its end.
class FunctionTable {
 public:
  static FunctionTable& Get() {
    static FunctionTable* const table = std::make_unique<FunctionTable>().release();
    return *table;
  }

  // False when the type has some.
  bool Add(VariantFunctions functions) ABSL_LOCKS_EXCLUDED(mu_) {
    std::string name = functions.type_name;
    auto made = std::make_unique<const VariantFunctions>(std::move(functions));
    MutexLock lock(&mu_);
    return rows_.try_emplace(std::move(name), std::move(made)).second;
  }

  // Null if the type has no functions. A row that was found stays valid.
  const VariantFunctions* Find(absl::string_view type_name) const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    const auto found = rows_.find(type_name);
    return found == rows_.end() ? nullptr : found->second.get();
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, std::unique_ptr<const VariantFunctions>, std::less<>> rows_ ABSL_GUARDED_BY(mu_);
};

std::string TypeText(const Variant& value) {
  return value.has_value() ? absl::StrCat("a variant of type '", PrintableName(value.type_name()), "'")
                           : std::string("a variant without a value");
}

absl::Status NoFunction(const Variant& value, absl::string_view what) {
  return Error(ErrorCode::kOpBroken).Found(TypeText(value)).Expected(absl::StrCat("a type that ", what));
}

}  // namespace

absl::Status AddVariantFunctions(VariantFunctions functions) {
  const std::string name = functions.type_name;
  if (!name.empty() && FunctionTable::Get().Add(std::move(functions))) return absl::OkStatus();
  return Error(ErrorCode::kHostKernel)
      .Text(absl::StrCat("functions for variants of type '", PrintableName(name),
                         name.empty() ? "': the type has no name" : "': it has some already"));
}

absl::StatusOr<Variant> AddVariants(const KernelContext& context, const Variant& a, const Variant& b) {
  if (!a.has_value() || !b.has_value() || a.type_name() != b.type_name()) {
    return Error(ErrorCode::kOpBroken)
        .Found(absl::StrCat(TypeText(a), " and ", TypeText(b)))
        .Expected("two variants of one type");
  }
  const VariantFunctions* const functions = FunctionTable::Get().Find(a.type_name());
  if (functions == nullptr || !functions->add) return NoFunction(a, "can be added");
  return functions->add(context, *a.object(), *b.object());
}

absl::StatusOr<Variant> ZerosLikeVariant(const KernelContext& context, const Variant& value) {
  if (!value.has_value()) return Error(ErrorCode::kOpBroken).Found(TypeText(value)).Expected("a variant with a value");
  const VariantFunctions* const functions = FunctionTable::Get().Find(value.type_name());
  if (functions == nullptr || !functions->zeros_like) return NoFunction(value, "has zeros");
  return functions->zeros_like(context, *value.object());
}

}  // namespace sluice
