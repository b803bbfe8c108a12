// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <vector>

namespace weft::layer_test {

struct HeaderSize {
   VkStructureType type;
   size_t size;
   const char *name;
};

/// The sizes of the headers' structs that may be in a chain that the layer copies (generated).
extern const std::vector<HeaderSize> header_sizes;

} // namespace weft::layer_test
