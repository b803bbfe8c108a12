// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/pipeline_executable.h"

#include "layer/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace weft::layer {

namespace {

/// By Vulkan's rule for texts: null asks for the size, too small a buffer is filled as far as it
/// goes.  Returns whether it was large enough.
bool copy_text(const std::string &text, VkPipelineExecutableInternalRepresentationKHR &out)
{
   const size_t size = text.size() + 1;
   if (!out.pData) {
      out.dataSize = size;
      return true;
   }
   const bool fits = out.dataSize >= size;
   out.dataSize = std::min(out.dataSize, size);
   memcpy(out.pData, text.c_str(), out.dataSize);
   if (!fits && out.dataSize > 0)
      static_cast<char *>(out.pData)[out.dataSize - 1] = 0;
   return fits;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_executable_internal_representations(
   VkDevice handle, const VkPipelineExecutableInfoKHR *info, uint32_t *count,
   VkPipelineExecutableInternalRepresentationKHR *out)
{
   Device *device = find_device(handle);
   const auto next = device->next.GetPipelineExecutableInternalRepresentationsKHR;
   const CapturedPipeline *captured = device->captured.find(info->pipeline);
   // A compute pipeline has one executable in every driver known; the texts belong to the first.
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
      VkPipelineExecutableInternalRepresentationKHR &entry = out[(*count)++];
      snprintf(entry.name, sizeof(entry.name), "%s", representation.name.c_str());
      snprintf(entry.description, sizeof(entry.description), "%s",
               representation.description.c_str());
      entry.isText = VK_TRUE;
      complete &= copy_text(representation.text, entry);
   }
   return complete ? VK_SUCCESS : VK_INCOMPLETE;
}

} // namespace weft::layer
