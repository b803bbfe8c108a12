// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Look-ups in registers in place of arithmetic.
///
/// One instruction permutes the lanes of a register, and looks only at the low bits of each index.
/// So any function of one small integer is a look-up, in a register that has the function's values.
/// Quantized numbers are such integers: four bits of a word that become a float.
///
///      (x >> 4 & 15) → float − 8            entry (x >> 4) mod 16 of {−8, −7, … 7}
///
/// The index is the last value of an expression on which all of it depends, if it has few values,
/// or if the expression uses only its low bits. Constant folding computes the entries, so the
/// results are the same, bit by bit. An expression with a NaN remains: code and constant folding
/// may differ in its bits.

#pragma once

#include "backend/cpu/codegen/facts/integer_ranges.h"
#include "backend/cpu/host/host_target.h"

#include "compiler/nir/nir.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::cpu {

struct TablePlan {
   nir_scalar index;              ///< an integer of 8 to 32 bits in the block of the look-up
   std::vector<uint32_t> entries; ///< a power of two; the index's low bits select one
};

/// "%5.0: c1000000 c0e00000 …"
std::string describe(const TablePlan &);

/// The look-ups of a shader. Defs must have indices in the order of the code.
class TablePlans {
public:
   TablePlans(nir_shader *, const HostTarget &, IntegerRanges &);

   /// Null if the usual code computes the component.
   const TablePlan *of(const nir_def &, unsigned component) const;

private:
   std::map<std::pair<const nir_def *, unsigned>, TablePlan> tables;
};

} // namespace weft::cpu
