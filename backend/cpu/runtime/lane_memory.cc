// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/lane_memory.h"

#include <cstring>

namespace weft::cpu {

namespace {

/// Calls body(memory or null, number of the component) for every component of every lane.
template <typename Body>
void for_each_component(const LaneAccess &access, uint32_t lanes, uint32_t components,
                        uint32_t bytes, Body body)
{
   for (uint32_t lane = 0; lane < lanes; lane++) {
      for (uint32_t c = 0; c < components; c++) {
         const uint64_t offset = access.offsets[lane] + uint64_t(c) * bytes;
         const bool inside =
            access.size == ~uint64_t(0) || (bytes <= access.size && offset <= access.size - bytes);
         uint8_t *memory = nullptr;
         if (inside && (access.active >> lane & 1))
            memory = reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(access.base) + offset);
         body(memory, size_t(lane) * components + c);
      }
   }
}

} // namespace

void load_lanes(const LaneAccess *access, void *data, uint32_t lanes, uint32_t components,
                uint32_t bytes)
{
   for_each_component(*access, lanes, components, bytes, [&](const uint8_t *memory, size_t i) {
      uint8_t *to = static_cast<uint8_t *>(data) + i * bytes;
      if (memory)
         std::memcpy(to, memory, bytes);
      else
         std::memset(to, 0, bytes);
   });
}

void store_lanes(const LaneAccess *access, const void *data, uint32_t lanes, uint32_t components,
                 uint32_t bytes)
{
   for_each_component(*access, lanes, components, bytes, [&](uint8_t *memory, size_t i) {
      if (memory)
         std::memcpy(memory, static_cast<const uint8_t *>(data) + i * bytes, bytes);
   });
}

void *find_lane_memory_symbol(std::string_view symbol)
{
   if (symbol == load_lanes_symbol)
      return reinterpret_cast<void *>(&load_lanes);
   if (symbol == store_lanes_symbol)
      return reinterpret_cast<void *>(&store_lanes);
   return nullptr;
}

} // namespace weft::cpu
