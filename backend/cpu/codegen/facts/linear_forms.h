// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Lane 0's values as sums, so that two addresses are compared: loads whose forms differ in the
/// constant only are near each other.

#pragma once

#include "backend/cpu/codegen/facts/lane_offsets.h"

#include <compare>
#include <map>
#include <utility>
#include <vector>

namespace weft::cpu {

/// Lane 0's value as a linear form: sum of values times factors + constant, modulo 2^32.
struct LinearForm {
   /// factors by (value, component)
   using Terms = std::map<std::pair<const nir_def *, uint32_t>, uint32_t>;

   Terms terms;
   uint32_t constant = 0;
   std::vector<LaneAssumption> assumptions; ///< the form may be wrong without them
};

/// Linear forms of 32-bit integers, for comparison with each other: if i is a multiple of 32, (i +
/// 64) / 32 is i / 32 + 2.
class LinearForms {
public:
   explicit LinearForms(const LaneOffsetAnalysis &offsets) : offsets(offsets) {}

   LinearForm of(const nir_scalar &);

private:
   /// An operation with a constant on a sum. Sums that differ only by multiples of the operation's
   /// granularity share one.
   struct Operation {
      nir_op op;
      uint32_t operand;
      LinearForm::Terms terms;
      uint32_t low; ///< the sum's constant below the granularity

      auto operator<=>(const Operation &) const = default;
   };
   struct First {
      nir_scalar result, source;
      uint32_t high;                           ///< the rest of the sum's constant
      std::vector<LaneAssumption> assumptions; ///< assumptions of the sum
   };

   void add_to(LinearForm &, nir_scalar, uint32_t factor);
   bool add_operation(LinearForm &, const nir_scalar &, uint32_t factor);

   const LaneOffsetAnalysis &offsets;
   std::map<Operation, First> operations;
   unsigned steps = 0; ///< operations in the current form
};

} // namespace weft::cpu
