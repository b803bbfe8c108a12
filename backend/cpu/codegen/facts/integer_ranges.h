// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Ranges of integers: of an operation's result, and of a shader's values in any dispatch.

#pragma once

#include "compiler/nir/nir.h"

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace weft::cpu {

/// The range of an unsigned integer, both ends included; of a boolean, from 0 to 1.
struct ValueRange {
   uint64_t low, high;

   bool is_known() const { return low == high; }
   bool operator==(const ValueRange &) const = default;
};

/// All integers of `bits` bits.
ValueRange any_of(unsigned bits);

/// Whether an operation has at most three operands and all of them, and its result, are scalars.
bool takes_few_scalars(const nir_op_info &);

/// The range of an operation's result from the ranges of its operands, of at most 32 bits each.
/// Operands that the operation does not have are ignored, and so are all bit sizes but the first
/// operand's.
ValueRange range_of_result(nir_op, unsigned bits, unsigned source_bits,
                           const std::array<ValueRange, 3> &operands);

/// Ranges that follow from the shader alone: from constants, ids, and counters of loops. The shader
/// must not change while this exists.
class IntegerRanges {
public:
   explicit IntegerRanges(nir_shader *);
   ~IntegerRanges();
   IntegerRanges(const IntegerRanges &) = delete;
   IntegerRanges &operator=(const IntegerRanges &) = delete;

   /// Values of more than 32 bits have any value.
   ValueRange of(const nir_scalar &);
   /// Whether the highest bit is 0.
   bool is_below_half(const nir_scalar &);

private:
   ValueRange compute(const nir_scalar &);
   ValueRange of_operation(const nir_scalar &);
   uint64_t counter_bound(nir_phi_instr *);

   nir_shader *shader;
   hash_table *nir_bounds; ///< of nir_unsigned_upper_bound(), which knows no loop counters
   std::map<std::pair<const nir_def *, unsigned>, ValueRange> known;
   unsigned depth = 0;
};

} // namespace weft::cpu
