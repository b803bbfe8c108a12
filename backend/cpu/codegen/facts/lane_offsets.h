// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How far the integer values of lanes lie from that of lane 0, where the numbers are known while
/// compiling:
///
///    lane            0   1   2   3   4   5   6   7
///    8 * lane        0   8  16  24  32  40  48  56
///    / 32            0   0   0   0   1   1   1   1
///    * 18            0   0   0   0  18  18  18  18
///
/// The same holds for (u + 8 * lane) / 32 if a uniform u is a multiple of 32: a row of a matrix
/// mostly begins at one, which a shader's author knows and its code does not say.  It is assumed
/// then, to be looked at when the shader runs.

#pragma once

#include "backend/cpu/codegen/facts/lane_analysis.h"

#include <algorithm>
#include <compare>
#include <initializer_list>
#include <map>
#include <span>
#include <utility>

namespace weft::cpu {

/// Of lane 0's value, the bits of the mask are 0.
struct LaneAssumption {
   const nir_def *def;
   uint32_t component;
   uint64_t mask;

   bool operator==(const LaneAssumption &) const = default;
};

/// An integer modulo 2^bits.
struct Residue {
   uint32_t bits = 0;
   uint64_t value = 0; ///< less than 2^bits

   bool operator==(const Residue &) const = default;
};

struct LaneOffsets {
   std::vector<int64_t> from_first;   ///< per lane, modulo 2^bits with sign; empty: not known
   Residue first = {};                ///< what lane 0's value is, without assumptions
   std::vector<uint32_t> assumptions; ///< LaneOffsetAnalysis::assumption(i), in order
   Residue assumed = {};              ///< what lane 0's value is with these

   bool operator==(const LaneOffsets &) const = default;
};

/// Of the values, each times a number, in 32 bits; not known if one is not.
LaneOffsets weighted_sum(std::initializer_list<std::pair<const LaneOffsets *, uint32_t>>);

class LaneOffsetAnalysis {
public:
   /// As LaneAnalysis; `patterns` is of the same shader and has to stay.
   LaneOffsetAnalysis(nir_shader *, uint32_t subgroup_size, const LaneAnalysis &patterns);

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

/// Lane 0's value: sum of values times numbers + constant, modulo 2^32.
struct LinearForm {
   using Terms = std::map<std::pair<const nir_def *, uint32_t>, uint32_t>; ///< by value, component

   Terms terms;
   uint32_t constant = 0;
   std::vector<LaneAssumption> assumptions; ///< without which it may be wrong
};

/// Linear forms of some integers of 32 bits, to be compared with each other: with i a multiple of 32,
/// (i + 64) / 32 is i / 32 + 2.
class LinearForms {
public:
   explicit LinearForms(const LaneOffsetAnalysis &offsets) : offsets(offsets) {}

   LinearForm of(const nir_scalar &);

private:
   /// Operations with constants on sums that differ by what the operation lets through.
   struct Operation {
      nir_op op;
      uint32_t operand;
      LinearForm::Terms terms;
      uint32_t low; ///< of the sum's constant, the part that it does not let through

      auto operator<=>(const Operation &) const = default;
   };
   struct First {
      nir_scalar result, source;
      uint32_t high;                           ///< of the sum's constant, the other part
      std::vector<LaneAssumption> assumptions; ///< of the sum
   };

   void add_to(LinearForm &, nir_scalar, uint32_t factor);
   bool add_operation(LinearForm &, const nir_scalar &, uint32_t factor);

   const LaneOffsetAnalysis &offsets;
   std::map<Operation, First> operations;
   unsigned steps = 0; ///< of what the present form is made
};

} // namespace weft::cpu
