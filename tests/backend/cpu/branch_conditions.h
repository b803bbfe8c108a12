// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Literal conditions and decisions of branches.

#pragma once

#include "backend/cpu/specialize/branch_decisions.h"

#include <initializer_list>
#include <span>
#include <string_view>

namespace weft::cpu {

/// A letter for each branch: 't' then, 'e' else, '*' undecided, '-' unreached.
inline BranchDecisions decisions(std::string_view letters)
{
   BranchDecisions list;
   for (const char letter : letters) {
      list.push_back(letter == 't'   ? BranchDecision::then_side
                     : letter == 'e' ? BranchDecision::else_side
                     : letter == '*' ? BranchDecision::undecided
                                     : BranchDecision::unreached);
   }
   return list;
}

inline DispatchExpression computed(nir_op op, uint8_t bits, std::initializer_list<uint32_t> sources)
{
   DispatchExpression e = {DispatchExpression::Kind::operation, bits, uint16_t(op), {}, 0};
   std::copy(sources.begin(), sources.end(), e.sources);
   return e;
}

inline DispatchExpression leaf(DispatchExpression::Kind kind, uint64_t value)
{
   return {kind, 32, 0, {}, value};
}

/// The branches of
///
///    if (push == 5) {
///       if (workgroup < push) … else …
///    } else {
///       if (workgroup < push) …
///    }
inline BranchConditions three_branches()
{
   using enum DispatchExpression::Kind;
   return {{leaf(push_constant, 0), leaf(constant, 5), computed(nir_op_ieq, 1, {0, 1}),
            leaf(workgroup_id, 0), computed(nir_op_ult, 1, {3, 0})},
           {{.number = 0, .condition = 2, .around = -1, .in_then = false},
            {.number = 1, .condition = 4, .around = 0, .in_then = true},
            {.number = 2, .condition = 4, .around = 0, .in_then = false}}};
}

/// A dispatch of `workgroups` workgroups with one word of push constants.
struct PushedWord {
   uint32_t push;
   uint32_t workgroups = 1;

   operator DispatchFacts() const
   {
      return {std::as_bytes(std::span(&push, 1)), {}, {workgroups, 1, 1}};
   }
};

} // namespace weft::cpu
