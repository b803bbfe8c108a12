// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texts in Vulkan's structs.

#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace weft {

/// Cut off where it does not fit.
template <size_t size>
void copy_text(char (&out)[size], const char *text)
{
   snprintf(out, size, "%s", text);
}

/// A text of VK_KHR_pipeline_executable_properties that the application asked to capture.
struct Representation {
   std::string name; ///< unique within a pipeline
   std::string description, text;
};

/// By Vulkan's rule for bytes: null asks for the size, too small a buffer is filled as far as it
/// goes.  Returns whether it was large enough.
inline bool copy_representation(const Representation &from,
                                VkPipelineExecutableInternalRepresentationKHR &out)
{
   copy_text(out.name, from.name.c_str());
   copy_text(out.description, from.description.c_str());
   out.isText = VK_TRUE;
   const size_t size = from.text.size() + 1;
   if (!out.pData) {
      out.dataSize = size;
      return true;
   }
   const bool fits = out.dataSize >= size;
   out.dataSize = std::min(out.dataSize, size);
   memcpy(out.pData, from.text.c_str(), out.dataSize);
   if (!fits && out.dataSize > 0)
      static_cast<char *>(out.pData)[out.dataSize - 1] = 0;
   return fits;
}

} // namespace weft
