// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Strings in Vulkan's structs.

#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace weft {

/// Truncates a string that does not fit.
template <size_t size>
void copy_text(char (&out)[size], const char *text)
{
   snprintf(out, size, "%s", text);
}

/// A text of VK_KHR_pipeline_executable_properties that the application requested.
struct Representation {
   std::string name; ///< unique within a pipeline
   std::string description, text;
};

/// Copies by Vulkan's rule for byte arrays: null requests the size; a buffer that is too small is
/// filled. Returns whether it was large enough.
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
