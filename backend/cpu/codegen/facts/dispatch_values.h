// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Ranges of a shader's integers that follow from facts known before a dispatch runs: its push
/// constants, its number of workgroups, and the formats and samplers in its descriptors.
///
/// Expressions are plain data in an order in which they can be computed. So they outlive their
/// shader and a cache can store them.

#pragma once

#include "backend/cpu/codegen/facts/integer_ranges.h"
#include "backend/cpu/compiler.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft::cpu {

struct DispatchExpression {
   enum class Kind : uint8_t {
      any, ///< not analysed further
      constant,
      push_constant,
      descriptor, ///< a word of a set's data
      workgroup_id,
      num_workgroups,
      invocation, ///< the invocation's number in its workgroup or subgroup, which is below `value`
      operation,
   };
   Kind kind = Kind::any;
   uint8_t bits = 0;
   uint16_t op = 0;          ///< nir_op
   uint32_t sources[3] = {}; ///< operands of an operation: numbers of earlier expressions
   uint64_t value = 0;       ///< the constant; the push constant's first byte; the dimension; the
                             ///< descriptor's set in the upper half, and its byte in the lower half
};

/// Builds expressions from a shader in its final form (validate_final_form.h).
class DispatchExpressions {
public:
   DispatchExpressions(const nir_shader *, uint32_t subgroup_size);

   /// Returns the number of the value's expression and appends the expression if it is new.
   uint32_t add(const nir_scalar &);
   /// Appends a condition: the number of workgroups along x is a multiple of `multiple`, a power of
   /// two, and at least `least`.
   uint32_t add_multiple_of_workgroups(uint32_t multiple, uint32_t least);
   /// Whether the facts about a dispatch may suffice to compute the value: it depends on them and
   /// on nothing else that is unknown.
   bool may_be_known(uint32_t number) const { return depends[number] && follows[number]; }
   /// Whether the value may differ between a dispatch's workgroups.
   bool tells_workgroups_apart(uint32_t number) const { return differs[number]; }

   std::vector<DispatchExpression> expressions;

private:
   uint32_t add_new(const nir_scalar &);
   uint32_t add_intrinsic(const nir_intrinsic_instr *, const nir_scalar &);
   uint32_t add_descriptor(const nir_scalar &);
   uint32_t add_operation(const nir_scalar &);
   uint32_t append(const DispatchExpression &, bool depends, bool follows);

   const uint32_t W, invocations;
   std::map<std::pair<const nir_def *, unsigned>, uint32_t> numbers;
   std::vector<bool> depends, follows, differs;
};

/// Whether a scalar follows from words of descriptors, without any other facts. Descriptors give
/// the formats of texels and the kinds of samplers.
bool follows_from_descriptors(const nir_scalar &);

/// The set (upper half) and the byte (lower half) of a scalar that load_ubo reads from descriptors
/// as data; nothing for other values.
std::optional<uint64_t> descriptor_place(const nir_scalar &);
/// The word of a descriptor; nothing if it is not known.
std::optional<uint64_t> descriptor_word(const DispatchExpression &, const DispatchFacts &);

/// A box of a dispatch's workgroups: a range per dimension.
using WorkgroupRanges = std::array<ValueRange, 3>;
WorkgroupRanges all_workgroups(const DispatchFacts &);

/// The range of each expression over all invocations of these workgroups.
std::vector<ValueRange> evaluate(std::span<const DispatchExpression>, const DispatchFacts &,
                                 const WorkgroupRanges &);

} // namespace weft::cpu
