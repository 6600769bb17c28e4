#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_FUNCTIONS_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_FUNCTIONS_H_

#include "kernels/plugin/plugin_api.h"

namespace sluice {

// The table that plug-ins get. Immutable, lives for ever.
const SluiceApi& PluginFunctionTable();

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_FUNCTIONS_H_
