// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Memory accesses lane by lane: what generated code calls where its vector code does not apply, at
/// the end of a buffer.

#pragma once

#include <cstdint>
#include <string_view>

namespace weft::cpu {

struct LaneAccess {
   uint8_t *base;           ///< null: offsets are addresses
   uint64_t size;           ///< bytes from base on that may be accessed; ~0: there is no bound
   const uint64_t *offsets; ///< per lane: of its first component, modulo 2^32 where there is a base
   uint64_t active;         ///< bit l: lane l takes part
};

constexpr const char *load_lanes_symbol = "weft_load_lanes";
constexpr const char *store_lanes_symbol = "weft_store_lanes";

// Components are checked one by one: NIR's passes join accesses of which only a part may be out of
// bounds.

/// data[lane][component] = memory, `bytes` bytes per component; zero for what is out of bounds and
/// for inactive lanes.
void load_lanes(const LaneAccess *, void *data, uint32_t lanes, uint32_t components,
                uint32_t bytes);
/// memory = data[lane][component], in the order of lanes; what is out of bounds and inactive lanes
/// write nothing.
void store_lanes(const LaneAccess *, const void *data, uint32_t lanes, uint32_t components,
                 uint32_t bytes);

/// By symbol; null when the name is neither.
void *find_lane_memory_symbol(std::string_view name);

} // namespace weft::cpu
