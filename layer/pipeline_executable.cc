// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/pipeline_executable.h"

#include "layer/device.h"

#include <algorithm>

namespace weft::layer {

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_executable_internal_representations(
   VkDevice handle, const VkPipelineExecutableInfoKHR *info, uint32_t *count,
   VkPipelineExecutableInternalRepresentationKHR *out)
{
   Device *device = find_device(handle);
   const auto next = device->next.GetPipelineExecutableInternalRepresentationsKHR;
   const CapturedPipeline *captured = device->captured.find(info->pipeline);
   // In every known driver, a compute pipeline has one executable. The texts belong to the first.
   if (!captured || info->executableIndex != 0)
      return next(handle, info, count, out);

   const auto &ours = captured->representations;
   const uint32_t capacity = *count;
   uint32_t theirs = 0;
   VkResult result = next(handle, info, &theirs, nullptr);
   if (result < 0)
      return result;
   const uint32_t wanted = theirs + uint32_t(ours.size());
   if (!out) {
      *count = wanted;
      return result;
   }
   theirs = std::min(theirs, capacity);
   if (theirs)
      result = next(handle, info, &theirs, out);
   if (result < 0)
      return result;
   bool complete = result == VK_SUCCESS && capacity >= wanted;
   *count = theirs;
   for (const Representation &representation : ours) {
      if (*count == capacity)
         break;
      complete &= copy_representation(representation, out[(*count)++]);
   }
   return complete ? VK_SUCCESS : VK_INCOMPLETE;
}

} // namespace weft::layer
