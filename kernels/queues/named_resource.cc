#include "kernels/queues/named_resource.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
#include "kernels/device/device.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

bool IsContainerName(absl::string_view name) {
  if (name.empty()) return true;
  const auto may_begin = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.'; };
  return may_begin(name[0]) && std::all_of(name.begin(), name.end(),
                                           [&](char c) { return may_begin(c) || c == '-' || c == '_' || c == '/'; });
}

}  // namespace

absl::StatusOr<ResourceName> ResourceName::Make(const KernelConstruction& construction, absl::string_view type_name,
                                                Unnamed unnamed) {
  ResourceName made;
  SLUICE_ASSIGN_OR_RETURN(made.container_, construction.Get<std::string>("container"));
  SLUICE_ASSIGN_OR_RETURN(made.name_, construction.Get<std::string>("shared_name"));
  if (!IsContainerName(made.container_)) {
    return AttrError("container", made.container_, "letters, digits and any of ._-/ after the first");
  }
  if (!made.name_.empty() && made.name_[0] == '_') {
    return AttrError("shared_name", made.name_, "a name that begins without '_'");
  }
  if (made.container_.empty()) made.container_ = std::string(kDefaultContainer);
  // No shared_name begins so.
  const absl::string_view prefix = unnamed == Unnamed::kOwn ? "_" : "";
  if (made.name_.empty()) made.name_ = absl::StrCat(prefix, construction.name());
  if (construction.output_type(0) == DType::kResource) {
    ResourceHandleData data;
    if (construction.device() != nullptr) data.device = construction.device()->name();
    data.container = made.container_;
    data.name = made.name_;
    data.maybe_type_name = std::string(type_name);
    made.handle_ = HandleTensor(std::move(data));
  } else if (IsRef(construction.output_type(0))) {
    made.names_ = MakeCounted<RefCell>(DType::kString);
    MutexLock lock(&made.names_->mu);
    made.names_->tensor = Tensor::Strings({made.container_, made.name_});
  }
  return made;
}

void ResourceName::SetHandle(KernelContext& context) const {
  if (names_) {
    context.SetRefOutput(0, names_.get());
  } else {
    context.SetOutput(0, handle_);
  }
}

}  // namespace sluice
