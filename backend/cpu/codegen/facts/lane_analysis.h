// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How a shader's integers change from lane to lane. This turns a gather into a contiguous load.

#pragma once

#include "backend/cpu/codegen/facts/integer_ranges.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::cpu {

/// In every aligned group of `group` lanes the value changes in equal steps:
///
///    lane        0    1    2    3  |  4    5    6    7
///    value       a   a+s  a+2s a+3s|  b   b+s  b+2s b+3s        group = 4, step = s
///
/// modulo 2^bits. A uniform value has group = W and step = 0; group = 1 states nothing.
struct LanePattern {
   uint32_t group = 1;      ///< power of two, at most W
   int64_t step = 0;        ///< sign-extended from the value's bits
   uint32_t log2_align = 0; ///< the value of a group's first lane is a multiple of 2^log2_align

   bool operator==(const LanePattern &) const = default;
};

class LaneAnalysis {
public:
   /// The entry point must be in SSA form with divergence information, and must not change
   /// afterwards.
   LaneAnalysis(nir_shader *, uint32_t subgroup_size);

   LanePattern pattern(const nir_def &, uint32_t component = 0) const;
   LanePattern pattern(const nir_src &src, uint32_t component = 0) const
   {
      return pattern(*src.ssa, component);
   }

   /// The components of all values are numbered from 0 to size() - 1.
   uint32_t number(const nir_def &def, uint32_t component) const
   {
      return first[def.index] + component;
   }
   uint32_t size() const { return uint32_t(patterns.size()); }

   IntegerRanges &ranges() const { return *integer_ranges; }

private:
   uint32_t W;
   std::unique_ptr<IntegerRanges> integer_ranges;
   std::vector<uint32_t> first; ///< by def index: the number of the def's first component
   std::vector<LanePattern> patterns;
};

/// v as a signed integer of `bits` bits.
int64_t wrap(uint64_t v, unsigned bits);

/// Whether this phi may merge lanes that took different branches.
bool joins_lanes(const nir_phi_instr *);

/// The same pattern, stated for smaller groups of lanes.
LanePattern shrink(LanePattern, uint32_t group);

} // namespace weft::cpu
