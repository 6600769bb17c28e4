#include "kernels/plugin/plugin_functions.h"

#include "kernels/plugin/plugin_call.h"
#include "kernels/plugin/plugin_done.h"
#include "kernels/plugin/plugin_gradients.h"
#include "kernels/plugin/plugin_node.h"
#include "kernels/plugin/plugin_registration.h"
#include "kernels/plugin/plugin_shapes.h"
#include "kernels/plugin/plugin_status.h"
#include "kernels/plugin/plugin_tensor.h"

namespace sluice {
namespace {

// In the order of SluiceApi's members, which never changes.
constexpr SluiceApi kFunctions = {
    sizeof(SluiceApi),
    SLUICE_PLUGIN_MAJOR,
    SLUICE_PLUGIN_MINOR,
    &NewStatus,
    &NewInputStatus,
    &StatusCode,
    &StatusText,
    &DeleteStatus,
    &RegistrationAddOp,
    &RegistrationAddKernel,
    &NodeOp,
    &NodeName,
    &NodeNumInputs,
    &NodeNumOutputs,
    &NodeInputType,
    &NodeOutputType,
    &NodeInputRange,
    &NodeOutputRange,
    &NodeHasAttr,
    &NodeGetAttr,
    &ShapesInput,
    &ShapesInputValue,
    &ShapesSet,
    &ShapesSetSame,
    &ShapesSetBroadcast,
    &CallNumInputs,
    &CallNumOutputs,
    &CallInput,
    &CallIsOutputUsed,
    &CallAllocateOutput,
    &CallForwardOrAllocate,
    &CallSetOutput,
    &CallPassInput,
    &CallAllocateTemp,
    &WrapMemory,
    &CallKeepInput,
    &KeepTensor,
    &ViewTensor,
    &DeleteTensor,
    &StringAt,
    &SetString,
    &CallParallelFor,
    &CallIsCancelled,
    &CallOnCancel,
    &CallOffCancel,
    &CallStepId,
    &CallIteration,
    &FinishCall,
    &RegistrationAddGradient,
    &GradientsWants,
    &GradientsHasDy,
    &GradientsInput,
    &GradientsOutput,
    &GradientsDy,
    &GradientsAddOp,
    &GradientsSibling,
    &GradientsConstant,
    &GradientsNumber,
    &GradientsSet,
};

}  // namespace

const SluiceApi& PluginFunctionTable() { return kFunctions; }

}  // namespace sluice
