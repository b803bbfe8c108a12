// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The distances of the lanes' integers from lane 0's, where they are compile-time constants:
///
///    lane            0   1   2   3   4   5   6   7
///    8 * lane        0   8  16  24  32  40  48  56
///    / 32            0   0   0   0   1   1   1   1
///    * 18            0   0   0   0  18  18  18  18
///
/// The same holds for (u + 8 * lane) / 32 if a uniform u is a multiple of 32. Rows of a matrix
/// usually begin at such multiples, which the shader's code does not state. The analysis then
/// assumes it, and code checks the assumption at run time.
///
/// A remainder needs less: (u + lane) & 255 rises from lane to lane if it does not begin again at 0
/// between them. Rows of rings begin anywhere, so code for such rows assumes only that.

#pragma once

#include "backend/cpu/codegen/facts/lane_analysis.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

namespace weft::cpu {

/// The assumption that the masked bits of lane 0's value are at most a number.
struct LaneAssumption {
   const nir_def *def;
   uint32_t component;
   uint64_t mask;
   uint64_t most = 0; ///< 0: no bit of the mask is set

   bool operator==(const LaneAssumption &) const = default;
};

/// An integer modulo 2^bits.
struct Residue {
   uint32_t bits = 0;
   uint64_t value = 0; ///< less than 2^bits

   bool operator==(const Residue &) const = default;
};

struct LaneOffsets {
   std::vector<int64_t> from_first;   ///< per lane, modulo 2^bits, signed; empty: unknown
   Residue first = {};                ///< lane 0's value, without assumptions
   std::vector<uint32_t> assumptions; ///< LaneOffsetAnalysis::assumption(i), in order
   Residue assumed = {};              ///< lane 0's value under these assumptions

   bool operator==(const LaneOffsets &) const = default;
};

/// The sum of the values, each times its factor, in 32 bits; unknown if one value is.
LaneOffsets weighted_sum(std::initializer_list<std::pair<const LaneOffsets *, uint32_t>>);

/// Where the rows of lanes are assumed to begin.
enum class RowStart {
   multiple, ///< at multiples of powers of two, from which later operations know lowest bits
   anywhere, ///< remainders are only assumed not to begin again at 0 between the lanes
};

class LaneOffsetAnalysis {
public:
   /// The requirements of LaneAnalysis hold. `patterns` belongs to the same shader and must outlive
   /// this.
   LaneOffsetAnalysis(nir_shader *, uint32_t subgroup_size, const LaneAnalysis &patterns,
                      RowStart row_start = RowStart::multiple);

   const LaneOffsets &offsets(const nir_src &src, uint32_t component = 0) const
   {
      return values[patterns.number(*src.ssa, component)];
   }
   const LaneOffsets &offsets(const nir_scalar &x) const
   {
      return values[patterns.number(*x.def, x.comp)];
   }
   const LaneAssumption &assumption(uint32_t i) const { return assumptions[i]; }
   bool is_assumed_something_of(const nir_def *def) const
   {
      return std::ranges::find(assumptions, def, &LaneAssumption::def) != assumptions.end();
   }

private:
   const LaneAnalysis &patterns;
   std::vector<LaneOffsets> values; ///< by LaneAnalysis::number()
   std::vector<LaneAssumption> assumptions;
};

} // namespace weft::cpu
