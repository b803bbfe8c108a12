// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Binaries of shader objects (VK_EXT_shader_object). A driver accepts a binary only with the
/// description that the shader was made with, which the layer has changed for a lowered shader. So
/// the changes are a header of its binary:
///
///    bytes 0 … 15     16            20             24 … 31   32 …
///    shader_binary_id required size changes (bits) 0         the driver's binary

#pragma once

#include "layer/stage_plan.h"

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <optional>

namespace weft::layer {

/// Begins a header. The layer also adds it (xor) to the driver's shaderBinaryUUID, so that programs
/// keep their binaries apart from the driver's. Another header needs another id.
constexpr std::array<uint8_t, VK_UUID_SIZE> shader_binary_id = {
   0x57, 0x65, 0x66, 0x74, 0x9c, 0x21, 0x4e, 0x0d, 0xb3, 0x68, 0x1f, 0xd7, 0x52, 0xa0, 0x7b, 0x01};

/// Removes the header from a description of a binary. The changes that it names; none for binaries
/// without a header and for other code.
std::optional<StagePlan> take_header(VkShaderCreateInfoEXT &);

VKAPI_ATTR VkResult VKAPI_CALL get_shader_binary_data(VkDevice, VkShaderEXT, size_t *size,
                                                      void *data);

} // namespace weft::layer
