// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/validate_cmat.h"

#include "nir_passes/cmat_uses.h"

#include <algorithm>
#include <set>

namespace weft {

namespace {

/// "8x8 f16, 16x16 f16, …": the types that there are for a use.
std::string list_operands(const MatrixSupport &support, glsl_cmat_use use)
{
   std::set<std::string> seen;
   std::string list;
   const auto add = [&](ComponentType type, uint32_t rows, uint32_t cols, const char *prefix) {
      const std::string item = prefix + std::to_string(rows) + "x" + std::to_string(cols) + " " +
                               component_type_name(type);
      if (seen.insert(item).second)
         list += (list.empty() ? "" : ", ") + item;
   };
   const auto add_operands = [&](const MatrixOperation &op, const char *times) {
      const bool any = use == GLSL_CMAT_USE_NONE;
      if (any || use == GLSL_CMAT_USE_A)
         add(op.a, op.m, op.k, times);
      if (any || use == GLSL_CMAT_USE_B)
         add(op.b, op.k, op.n, times);
      if (any || use == GLSL_CMAT_USE_ACCUMULATOR) {
         add(op.c, op.m, op.n, times);
         add(op.result, op.m, op.n, times);
      }
   };
   for (const MatrixOperation &op : support.operations)
      add_operands(op, "");
   for (const FlexibleOperation &op : support.flexible)
      add_operands(op.granularity, "multiples of ");
   return list.empty() ? "none" : list;
}

/// The nearest things to an operation that is not there: those of its size.
std::string list_operations(const MatrixSupport &support, const MatrixOperation &wanted)
{
   std::string list;
   for (const MatrixOperation &op : support.operations) {
      if (op.m == wanted.m && op.n == wanted.n && op.k == wanted.k)
         list += (list.empty() ? "there are " : "; ") + describe(op);
   }
   return list.empty() ? "there is none of that size" : list;
}

} // namespace

Result<bool> validate_cmat(nir_shader *nir, const MatrixSupport &support)
{
   const Result<CmatUses> uses = gather_cmat_uses(nir);
   if (!uses)
      return uses.error();
   for (const glsl_cmat_description &desc : uses->matrices) {
      if (has_operand(support, desc))
         continue;
      if (desc.scope != SCOPE_SUBGROUP) {
         return Error{"a cooperative matrix " + describe(desc) +
                      " has a scope other than the subgroup, which is not supported"};
      }
      const auto use = glsl_cmat_use(desc.use);
      return Error{"the cooperative matrix " + describe(desc) + " is not supported; for " +
                   describe(use) + " there are: " + list_operands(support, use)};
   }
   for (const MatrixOperation &wanted : uses->operations) {
      if (!support.covers(wanted))
         return Error{"no operation " + describe(wanted) + "; " + list_operations(support, wanted)};
   }
   return true;
}

} // namespace weft
