// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integers of a shader as ranges that follow from what is known of a dispatch before it runs: its push
/// constants and how many workgroups it has.
///
/// Expressions are plain data in an order in which they can be computed, so that they outlive the shader
/// they were taken from and can be kept in a cache.

#pragma once

#include "backend/cpu/compiler.h"

#include "compiler/nir/nir.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace weft::cpu {

/// Of an unsigned integer, both ends included; of a boolean, 0 and 1.
struct ValueRange {
   uint64_t low, high;

   bool is_known() const { return low == high; }
   bool operator==(const ValueRange &) const = default;
};

struct DispatchExpression {
   enum class Kind : uint8_t {
      any, ///< not followed any further
      constant,
      push_constant,
      workgroup_id,
      num_workgroups,
      invocation, ///< which of several an invocation is: below `value`
      operation,
   };
   Kind kind = Kind::any;
   uint8_t bits = 0;
   uint16_t op = 0;          ///< nir_op
   uint32_t sources[3] = {}; ///< of an operation: numbers of expressions before it
   uint64_t value = 0;       ///< the constant; the push constant's first byte; the dimension
};

/// Takes expressions from a shader in its final form (validate_final_form.h).
class DispatchExpressions {
public:
   DispatchExpressions(const nir_shader *, uint32_t subgroup_size);

   /// The number of the value's expression, which it has from now on.
   uint32_t add(const nir_scalar &);
   /// Whether a dispatch may be enough to know the value: it depends on one, and on nothing else that
   /// would have to be known as well.
   bool may_be_known(uint32_t number) const { return depends[number] && follows[number]; }
   /// Whether it may differ between a dispatch's workgroups.
   bool tells_workgroups_apart(uint32_t number) const { return differs[number]; }

   std::vector<DispatchExpression> expressions;

private:
   uint32_t add_new(const nir_scalar &);
   uint32_t add_intrinsic(const nir_intrinsic_instr *, const nir_scalar &);
   uint32_t add_operation(const nir_scalar &);
   uint32_t append(const DispatchExpression &, bool depends, bool follows);

   const uint32_t W, invocations;
   std::map<std::pair<const nir_def *, unsigned>, uint32_t> numbers;
   std::vector<bool> depends, follows, differs;
};

/// Some of a dispatch's workgroups: per dimension those from one to another.
using WorkgroupRanges = std::array<ValueRange, 3>;
WorkgroupRanges all_workgroups(const DispatchFacts &);

/// Of each expression the range that it is in, in every invocation of these workgroups.
std::vector<ValueRange> evaluate(std::span<const DispatchExpression>, const DispatchFacts &,
                                 const WorkgroupRanges &);

} // namespace weft::cpu
