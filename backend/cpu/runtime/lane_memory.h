// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Lanewise memory accesses: generated code calls these functions where its vector code does not
/// apply, such as at the end of a buffer or if only some lanes are active.
///
/// The functions preserve all registers, so that an exceptional call costs its caller little code
/// and no spills.

#pragma once

#include "backend/cpu/host/isa.h"

#include <cstdint>

namespace weft::cpu {

/// A lane's access: its components and the form of its offset.
struct LaneForm {
   uint8_t components;
   uint8_t bytes;        ///< of a component: 1, 2, 4 or 8
   uint8_t offset_bytes; ///< 4: offsets from a base, modulo 2^32; 8: addresses, the base is null

   uint32_t packed() const { return components | bytes << 8 | uint32_t(offset_bytes) << 16; }
};

/// The size of unbounded memory.
constexpr uint64_t unlimited = ~uint64_t(0);

constexpr const char *load_lanes_symbol = "weft_load_lanes";
constexpr const char *store_lanes_symbol = "weft_store_lanes";

// Accesses memory of `size` bytes from `base` on, or any memory if `size` is `unlimited`. Lane l
// takes part if bit l of `active` is set. `offsets` has a number per lane, for the lane's first
// component. `form` is LaneForm::packed(). Each component is checked: NIR's passes join accesses
// that may be partly out of bounds.

/// data[lane][component] = memory. Reads zero out of bounds; inactive lanes get arbitrary values.
WEFT_PRESERVES_REGISTERS void load_lanes(const uint8_t *base, uint64_t size, uint64_t active,
                                         const void *offsets, uint8_t *data, uint32_t form);
/// memory = data[lane][component], in the order of lanes. Writes nothing out of bounds or for
/// inactive lanes.
WEFT_PRESERVES_REGISTERS void store_lanes(uint8_t *base, uint64_t size, uint64_t active,
                                          const void *offsets, const uint8_t *data, uint32_t form);

} // namespace weft::cpu
