// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/shader_binary.h"

#include "layer/device.h"

#include <cstring>

namespace weft::layer {

namespace {

enum Change : uint32_t {
   drops_specialization = 1,
   clears_varying = 2,
   requires_full_subgroups = 4,
};

/// Its size keeps the alignment of the driver's binary, 16 bytes.
struct Header {
   std::array<uint8_t, VK_UUID_SIZE> id;
   uint32_t required_size;
   uint32_t changes;
   uint32_t reserved[2];
};
static_assert(sizeof(Header) == 32);

Header write_header(const StagePlan &plan)
{
   return {
      .id = shader_binary_id,
      .required_size = plan.add_required_size,
      .changes = (plan.drops_specialization ? drops_specialization : 0u) |
                 (plan.clears_varying ? clears_varying : 0u) |
                 (plan.requires_full_subgroups ? requires_full_subgroups : 0u),
      .reserved = {},
   };
}

} // namespace

std::optional<StagePlan> take_header(VkShaderCreateInfoEXT &info)
{
   Header header;
   if (info.codeType != VK_SHADER_CODE_TYPE_BINARY_EXT || info.codeSize < sizeof(header))
      return std::nullopt;
   memcpy(&header, info.pCode, sizeof(header));
   if (header.id != shader_binary_id)
      return std::nullopt;
   info.pCode = static_cast<const uint8_t *>(info.pCode) + sizeof(header);
   info.codeSize -= sizeof(header);
   return StagePlan{
      .drops_specialization = bool(header.changes & drops_specialization),
      .clears_varying = bool(header.changes & clears_varying),
      .add_required_size = header.required_size,
      .requires_full_subgroups = bool(header.changes & requires_full_subgroups),
   };
}

VKAPI_ATTR VkResult VKAPI_CALL get_shader_binary_data(VkDevice handle, VkShaderEXT shader,
                                                      size_t *size, void *data)
{
   const Device *device = find_device(handle);
   const StagePlan *plan = device->lowered_shaders.find(shader);
   if (!plan)
      return device->next.GetShaderBinaryDataEXT(handle, shader, size, data);
   const Header header = write_header(*plan);
   if (data && *size < sizeof(header)) {
      *size = 0;
      return VK_INCOMPLETE;
   }
   size_t driver_size = data ? *size - sizeof(header) : 0;
   const VkResult result = device->next.GetShaderBinaryDataEXT(
      handle, shader, &driver_size, data ? static_cast<uint8_t *>(data) + sizeof(header) : nullptr);
   const bool is_whole = result == VK_SUCCESS;
   *size = is_whole ? driver_size + sizeof(header) : 0;
   if (data && is_whole)
      memcpy(data, &header, sizeof(header));
   return result;
}

} // namespace weft::layer
