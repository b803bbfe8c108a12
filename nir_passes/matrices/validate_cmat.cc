// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/validate_cmat.h"

#include "nir_passes/matrices/cmat_uses.h"

#include <algorithm>
#include <set>

namespace weft {

namespace {

MatrixScope scope_of(const glsl_cmat_description &desc)
{
   return desc.scope == SCOPE_WORKGROUP ? MatrixScope::workgroup : MatrixScope::subgroup;
}

/// "8x8 f16, 16x16 f16, …": the supported types for a use and scope.
std::string list_operands(const MatrixSupport &support, glsl_cmat_use use, MatrixScope scope)
{
   std::set<std::string> seen;
   std::string list;
   const auto add = [&](ComponentType type, uint32_t rows, uint32_t cols, uint32_t max_dimension) {
      std::string item =
         std::to_string(rows) + "x" + std::to_string(cols) + " " + component_type_name(type);
      if (max_dimension)
         item = "multiples of " + item + " up to " + std::to_string(max_dimension);
      if (seen.insert(item).second)
         list += (list.empty() ? "" : ", ") + item;
   };
   const auto add_operands = [&](const MatrixOperation &op, uint32_t max_dimension) {
      if (op.scope != scope)
         return;
      const bool any = use == GLSL_CMAT_USE_NONE;
      if (any || use == GLSL_CMAT_USE_A)
         add(op.a, op.m, op.k, max_dimension);
      if (any || use == GLSL_CMAT_USE_B)
         add(op.b, op.k, op.n, max_dimension);
      if (any || use == GLSL_CMAT_USE_ACCUMULATOR) {
         add(op.c, op.m, op.n, max_dimension);
         add(op.result, op.m, op.n, max_dimension);
      }
   };
   for (const MatrixOperation &op : support.operations)
      add_operands(op, 0);
   if (use != GLSL_CMAT_USE_NONE) {
      for (const FlexibleOperation &op : support.flexible)
         add_operands(op.granularity, op.max_dimension);
   }
   return list.empty() ? "none" : list;
}

/// The supported operations nearest to an unsupported one: operations of its size, and flexible
/// operations with its types of A and B.
std::string list_operations(const MatrixSupport &support, const MatrixOperation &wanted)
{
   std::string list;
   for (const MatrixOperation &op : support.operations) {
      if (op.m == wanted.m && op.n == wanted.n && op.k == wanted.k && op.scope == wanted.scope)
         list += (list.empty() ? "there are " : "; ") + describe(op);
   }
   if (list.empty())
      list = "no operation has that size";
   for (const FlexibleOperation &op : support.flexible) {
      if (op.granularity.a == wanted.a && op.granularity.b == wanted.b &&
          op.granularity.scope == wanted.scope)
         list += "; multiples of " + describe(op.granularity);
   }
   return list;
}

} // namespace

Result<bool> validate_cmat(nir_shader *nir, const MatrixSupport &all)
{
   const Result<CmatUses> uses = gather_cmat_uses(nir);
   if (!uses)
      return uses.error();
   const uint16_t *size = nir->info.workgroup_size;
   const uint32_t invocations = uint32_t(size[0]) * size[1] * size[2];
   const MatrixSupport support = all.in_workgroup(invocations);
   for (const glsl_cmat_description &desc : uses->matrices) {
      if (has_operand(support, desc))
         continue;
      if (desc.scope != SCOPE_SUBGROUP && desc.scope != SCOPE_WORKGROUP)
         return Error{"a cooperative matrix " + describe(desc) +
                      " has a scope other than the subgroup and the workgroup"};
      const auto use = glsl_cmat_use(desc.use);
      const std::string where =
         desc.scope == SCOPE_SUBGROUP
            ? ""
            : " at the scope of a workgroup of " + std::to_string(invocations) + " invocations";
      return Error{"the cooperative matrix " + describe(desc) + " is not supported" + where +
                   "; for " + describe(use) +
                   " there are: " + list_operands(support, use, scope_of(desc))};
   }
   for (const MatrixOperation &wanted : uses->operations) {
      if (!support.covers(wanted))
         return Error{"no operation " + describe(wanted) + "; " + list_operations(support, wanted)};
   }
   return true;
}

} // namespace weft
