// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The commands of a sequence that memory holds (VK_EXT_device_generated_commands).

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_object.h"

#include "icd/physical_device.h"

#include <cstdint>

namespace weft {

/// Push constants do not overlap, and besides them there are two tokens: the program's and the
/// dispatch's.
constexpr uint32_t max_indirect_tokens = max_push_constants_size / 4 + 2;
constexpr uint32_t no_token = UINT32_MAX;

/// Offsets count from the first byte of a sequence.
struct IndirectCommandsLayout {
   /// Push constants that a sequence sets.
   struct Push {
      uint32_t from; ///< offset of the values, or no_token: the number of the sequence
      uint32_t to, size;
   };

   vk_object_base base;
   uint32_t stride;         ///< from a sequence to the next
   uint32_t bytes;          ///< of a sequence, up to the end of its last token
   uint32_t dispatch;       ///< offset of a VkDispatchIndirectCommand; no_token: nothing runs
   uint32_t element;        ///< offset of an index into the execution set, or no_token
   uint32_t kept_constants; ///< the first push constants, which no sequence sets
   uint32_t push_count;
   Push pushes[];
};

VK_DEFINE_NONDISP_HANDLE_CASTS(IndirectCommandsLayout, base, VkIndirectCommandsLayoutEXT,
                               VK_OBJECT_TYPE_INDIRECT_COMMANDS_LAYOUT_EXT)

} // namespace weft
