// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Memory accesses lane by lane: what generated code calls where its vector code does not apply, as at the
/// end of a buffer or where only some lanes are active.
///
/// These functions leave all registers as they are, so that what is an exception costs its caller little
/// code and no spills.

#pragma once

#include <cstdint>

namespace weft::cpu {

/// What a lane accesses, and how it says where.
struct LaneForm {
   uint8_t components;
   uint8_t bytes;        ///< of a component: 1, 2, 4 or 8
   uint8_t offset_bytes; ///< 4: offsets from a base, modulo 2^32; 8: addresses, the base is null

   uint32_t packed() const { return components | bytes << 8 | uint32_t(offset_bytes) << 16; }
};

/// The size of memory without a bound.
constexpr uint64_t unlimited = ~uint64_t(0);

constexpr const char *load_lanes_symbol = "weft_load_lanes";
constexpr const char *store_lanes_symbol = "weft_store_lanes";

// Of memory `size` bytes from `base` on may be accessed, or any if that is `unlimited`.  Bit l of `active`: lane l
// takes part.  `offsets` has a number per lane, of its first component.  `form` is LaneForm::packed().  Components are
// checked one by one: NIR's passes join accesses of which only a part may be out of bounds.

/// data[lane][component] = memory; zero for what is out of bounds, anything for inactive lanes.
[[gnu::no_caller_saved_registers]] void load_lanes(const uint8_t *base, uint64_t size,
                                                   uint64_t active, const void *offsets,
                                                   uint8_t *data, uint32_t form);
/// memory = data[lane][component], in the order of lanes; what is out of bounds and inactive lanes
/// write nothing.
[[gnu::no_caller_saved_registers]] void store_lanes(uint8_t *base, uint64_t size, uint64_t active,
                                                    const void *offsets, const uint8_t *data,
                                                    uint32_t form);

} // namespace weft::cpu
