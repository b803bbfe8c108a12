// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The header of binaries of lowered shaders: of shader objects (VK_EXT_shader_object) and of
/// pipelines (VK_KHR_pipeline_binary). A driver accepts a binary only with the description that it
/// was made with, which the layer has changed. So the header names the changes:
///
///    bytes 0 … 15    16            20             24 … 31   32 …
///    binary_id       required size changes (bits) 0         the driver's binary
///
/// Its size keeps the alignment of the driver's binary, 16 bytes.

#pragma once

#include "layer/stage_plan.h"

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weft::layer {

/// Begins a header. Another header needs another id.
constexpr std::array<uint8_t, VK_UUID_SIZE> binary_id = {
   0x57, 0x65, 0x66, 0x74, 0x9c, 0x21, 0x4e, 0x0d, 0xb3, 0x68, 0x1f, 0xd7, 0x52, 0xa0, 0x7b, 0x01};
constexpr size_t binary_header_size = 32;

/// Adds the id (xor) to the driver's identity of binaries, so that programs keep their binaries
/// apart from the driver's.
void add_binary_id(std::span<uint8_t> identity);

/// The changes that a header names; nothing if the binary has no header.
std::optional<StagePlan> read_binary_header(const void *binary, size_t size);
void write_binary_header(const StagePlan &, void *binary);

} // namespace weft::layer
