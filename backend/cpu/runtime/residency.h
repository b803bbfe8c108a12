// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The addresses of sparse resources at which no memory is bound (icd/sparse.h). Generated code
/// looks up the residency of texels (Vulkan, "Sparse Image Instructions": OpImageSparse*).

#pragma once

#include <cstdint>

namespace weft::cpu {

/// At first, all addresses are bound. False if there is no memory to record the change.
bool mark_unbound(uint64_t start, uint64_t size);
bool mark_bound(uint64_t start, uint64_t size);

constexpr const char *find_residency_symbol = "weft_find_residency";

/// Operands of a lane: the low and the high word of an address, and the number of bytes there.
constexpr unsigned residency_operands = 3;

/// results[lane] = 1 if all bytes of operands[operand][lane] are resident, else 0. Lane l takes
/// part if bit l of `active` is set; results of other lanes are arbitrary.
void find_residency(uint64_t active, uint32_t lanes, const uint32_t *operands, uint32_t *results);

} // namespace weft::cpu
