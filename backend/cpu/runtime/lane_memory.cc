// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/lane_memory.h"

#include <cstring>

namespace weft::cpu {

namespace {

/// Calls body(memory or null, number of the component) for every component of every lane.
template <typename Number, typename Body>
void for_each_component(const LaneAccess &access, uint32_t lanes, uint32_t components, Body body)
{
   for (uint32_t lane = 0; lane < lanes; lane++) {
      for (uint32_t c = 0; c < components; c++) {
         uint64_t offset = access.offsets[lane] + uint64_t(c) * sizeof(Number);
         if (access.base)
            offset = uint32_t(offset);
         const bool inside =
            access.size == ~uint64_t(0) ||
            (sizeof(Number) <= access.size && offset <= access.size - sizeof(Number));
         uint8_t *memory = nullptr;
         if (inside && (access.active >> lane & 1))
            memory = reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(access.base) + offset);
         body(memory, size_t(lane) * components + c);
      }
   }
}

template <typename Number>
void load(const LaneAccess &access, void *data, uint32_t lanes, uint32_t components)
{
   for_each_component<Number>(access, lanes, components, [&](const uint8_t *memory, size_t i) {
      Number number = 0;
      if (memory)
         std::memcpy(&number, memory, sizeof(number));
      static_cast<Number *>(data)[i] = number;
   });
}

template <typename Number>
void store(const LaneAccess &access, const void *data, uint32_t lanes, uint32_t components)
{
   for_each_component<Number>(access, lanes, components, [&](uint8_t *memory, size_t i) {
      if (memory)
         std::memcpy(memory, static_cast<const Number *>(data) + i, sizeof(Number));
   });
}

} // namespace

void load_lanes(const LaneAccess *access, void *data, uint32_t lanes, uint32_t components,
                uint32_t bytes)
{
   switch (bytes) {
   case 1:
      return load<uint8_t>(*access, data, lanes, components);
   case 2:
      return load<uint16_t>(*access, data, lanes, components);
   case 4:
      return load<uint32_t>(*access, data, lanes, components);
   default:
      return load<uint64_t>(*access, data, lanes, components);
   }
}

void store_lanes(const LaneAccess *access, const void *data, uint32_t lanes, uint32_t components,
                 uint32_t bytes)
{
   switch (bytes) {
   case 1:
      return store<uint8_t>(*access, data, lanes, components);
   case 2:
      return store<uint16_t>(*access, data, lanes, components);
   case 4:
      return store<uint32_t>(*access, data, lanes, components);
   default:
      return store<uint64_t>(*access, data, lanes, components);
   }
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
