#ifndef SLUICE_EXECUTOR_SESSION_SIGNATURE_KEY_H_
#define SLUICE_EXECUTOR_SESSION_SIGNATURE_KEY_H_

#include <string>

#include "graph/passes/feed_fetch.h"

namespace sluice {

// A text that is the same for equal signatures and for no others.
std::string SignatureKey(const FeedFetchSpec& spec);
// Names a signature without a name of its own in checkpoints: a hash of that text.
std::string PlanName(const FeedFetchSpec& spec);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SIGNATURE_KEY_H_
