// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/binary_header.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

namespace {

enum Change : uint32_t {
   drops_specialization = 1,
   clears_varying = 2,
   requires_full_subgroups = 4,
};

struct Header {
   std::array<uint8_t, VK_UUID_SIZE> id;
   uint32_t required_size;
   uint32_t changes;
   uint32_t reserved[2];
};
static_assert(sizeof(Header) == binary_header_size);

} // namespace

void add_binary_id(std::span<uint8_t> identity)
{
   for (size_t i = 0; i < std::min(identity.size(), binary_id.size()); i++)
      identity[i] ^= binary_id[i];
}

std::optional<StagePlan> read_binary_header(const void *binary, size_t size)
{
   Header header;
   if (size < sizeof(header))
      return std::nullopt;
   memcpy(&header, binary, sizeof(header));
   if (header.id != binary_id)
      return std::nullopt;
   return StagePlan{
      .drops_specialization = bool(header.changes & drops_specialization),
      .clears_varying = bool(header.changes & clears_varying),
      .add_required_size = header.required_size,
      .requires_full_subgroups = bool(header.changes & requires_full_subgroups),
   };
}

void write_binary_header(const StagePlan &plan, void *binary)
{
   const Header header = {
      .id = binary_id,
      .required_size = plan.add_required_size,
      .changes = (plan.drops_specialization ? drops_specialization : 0u) |
                 (plan.clears_varying ? clears_varying : 0u) |
                 (plan.requires_full_subgroups ? requires_full_subgroups : 0u),
      .reserved = {},
   };
   memcpy(binary, &header, sizeof(header));
}

} // namespace weft::layer
