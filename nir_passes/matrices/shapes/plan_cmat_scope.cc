// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/plan_cmat_scope.h"

#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/shapes/choose_native_shape.h"

#include "compiler/nir/nir_deref.h"
#include "compiler/spirv/spirv.h"

#include <algorithm>
#include <map>

namespace weft {

namespace {

/// No back end has tiles with fewer rows or columns.
constexpr uint32_t least_band_rows = 8, least_band_cols = 16;

const glsl_cmat_description &description(const nir_intrinsic_instr *instr, unsigned source)
{
   return *glsl_get_cmat_description(nir_src_as_deref(instr->src[source])->type);
}

/// The shared memory that the operations of a shader need under a plan.
class Exchange {
public:
   explicit Exchange(const ScopePlan &plan) : plan(plan) {}

   /// Adds the needs of an intrinsic. Returns false if the plan does not support it.
   bool add(const nir_intrinsic_instr *instr)
   {
      if (may_differ_in_whole_b(instr) || reads_any_element(instr))
         return false;
      const std::optional<unsigned> operand = exchanged_operand(instr);
      if (!operand)
         return true;
      const glsl_cmat_description &desc = description(instr, *operand);
      const bool is_product = instr->intrinsic == nir_intrinsic_cmat_muladd;
      if (is_product && plan.b == FormOfB::workgroup_matrix) {
         uint32_t &most = workgroup_matrices[desc.element_type];
         most = std::max(most, uint32_t(desc.rows) * desc.cols * component_bits(desc) / 8);
         return true;
      }
      /* A conversion exchanges components of the result's type. */
      const unsigned bits = component_bits(is_product ? desc : description(instr, 0));
      uint32_t &most = staged[size_class(bits)];
      most = std::max(most, exchanged_elements(instr, desc));
      return true;
   }

   uint32_t bytes() const
   {
      uint32_t sum = 0;
      for (unsigned i = 0; i < staged.size(); ++i)
         sum += staged[i] << i;
      for (const auto &[element_type, most] : workgroup_matrices) {
         /* Kernels may have wider components (packed_bytes() of the CPU back end). */
         constexpr uint32_t growth = 4;
         sum += growth * most;
      }
      return sum;
   }

   const std::array<uint32_t, 4> &staged_elements() const { return staged; }

private:
   bool is_cut(const glsl_cmat_description &desc) const
   {
      return is_of_workgroup(desc) && plan.bands(desc).count > 1;
   }

   /// The operand of which each subgroup needs elements of all bands.
   std::optional<unsigned> exchanged_operand(const nir_intrinsic_instr *instr) const
   {
      const auto operand = [&](unsigned source, bool needs_all_bands) {
         return needs_all_bands && is_cut(description(instr, source)) ? std::optional(source)
                                                                      : std::nullopt;
      };
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_reduce_weft:
         return operand(1, plan.combines_bands(nir_intrinsic_reduction(instr),
                                               description(instr, 0), description(instr, 1)));
      case nir_intrinsic_cmat_transpose_weft:
         return operand(1, true);
      case nir_intrinsic_cmat_convert_weft:
      case nir_intrinsic_cmat_unary_op:
         return operand(1, is_b(description(instr, 0)) != is_b(description(instr, 1)));
      case nir_intrinsic_cmat_muladd:
         return operand(2, true);
      default:
         return std::nullopt;
      }
   }

   /// The number of elements in shared memory. Reductions of columns reduce each band first and
   /// exchange a row, or one element, of each.
   uint32_t exchanged_elements(const nir_intrinsic_instr *instr,
                               const glsl_cmat_description &desc) const
   {
      if (instr->intrinsic != nir_intrinsic_cmat_reduce_weft ||
          nir_intrinsic_reduction(instr) == SpvCooperativeMatrixReduce2x2Mask)
         return uint32_t(desc.rows) * desc.cols;
      const bool to_one = nir_intrinsic_reduction(instr) & SpvCooperativeMatrixReduceRowMask;
      return plan.bands(desc).count * (to_one ? 1 : desc.cols);
   }

   /// Whether subgroups may give different values to elements of B, while each has all of B. A
   /// volatile or coherent load may read different values in each subgroup.
   bool may_differ_in_whole_b(const nir_intrinsic_instr *instr) const
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_insert:
      case nir_intrinsic_cmat_per_element_weft:
         break;
      case nir_intrinsic_cmat_load_tensor_weft:
      case nir_intrinsic_cmat_load_blocked_weft:
         if (!(nir_intrinsic_access(instr) & (ACCESS_VOLATILE | ACCESS_COHERENT)))
            return false;
         break;
      default:
         return false;
      }
      const glsl_cmat_description &desc = description(instr, 0);
      return is_of_workgroup(desc) && is_b(desc) && !is_cut(desc);
   }

   /// Whether it reads elements of an unknown band.
   bool reads_any_element(const nir_intrinsic_instr *instr) const
   {
      return instr->intrinsic == nir_intrinsic_cmat_element_weft && is_cut(description(instr, 0));
   }

   const ScopePlan &plan;
   std::array<uint32_t, 4> staged = {};
   /// Bytes by element type: the workgroup has one matrix of a type at a time.
   std::map<unsigned, uint32_t> workgroup_matrices;
};

/// The plan with the shared memory for its exchanges; nothing if that is too much, or if the shader
/// has an operation that the plan does not support.
std::optional<ScopePlan> with_exchange(nir_shader *nir, ScopePlan plan, uint32_t max_bytes)
{
   Exchange exchange(plan);
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             !exchange.add(nir_instr_as_intrinsic(instr)))
            return std::nullopt;
      }
   }
   /* Variables with a layout of their own all lie in the same place. */
   const bool has_room = !nir->info.shared_memory_explicit_layout;
   if (exchange.bytes() > max_bytes || (exchange.bytes() > 0 && !has_room))
      return std::nullopt;
   plan.staged_elements = exchange.staged_elements();
   return plan;
}

/// Whether functions beside the entry point have matrices of workgroup scope.
bool has_workgroup_matrices_elsewhere(nir_shader *nir)
{
   nir_foreach_function_impl(impl, nir) {
      if (impl == nir_shader_get_entrypoint(nir))
         continue;
      nir_foreach_function_temp_variable(var, impl) {
         const glsl_type *type = glsl_without_array(var->type);
         if (glsl_type_is_cmat(type) && is_of_workgroup(*glsl_get_cmat_description(type)))
            return true;
      }
   }
   return false;
}

} // namespace

Bands ScopePlan::bands(const glsl_cmat_description &desc) const
{
   const uint32_t lines = is_b(desc) ? desc.cols : desc.rows,
                  least = is_b(desc) ? least_band_cols : least_band_rows;
   if (!is_cut || (is_b(desc) && b == FormOfB::whole))
      return {1, lines};
   for (uint32_t of_one = least; of_one < lines; of_one += least) {
      if (lines % of_one == 0 && lines / of_one <= subgroups)
         return {lines / of_one, of_one};
   }
   return {1, lines};
}

glsl_cmat_description ScopePlan::part(glsl_cmat_description desc) const
{
   if (!is_of_workgroup(desc))
      return desc;
   const uint32_t lines = bands(desc).lines;
   if (is_b(desc))
      desc.cols = lines;
   else
      desc.rows = lines;
   desc.scope = SCOPE_SUBGROUP;
   return desc;
}

bool ScopePlan::combines_bands(unsigned reduction, const glsl_cmat_description &result,
                               const glsl_cmat_description &source) const
{
   if (bands(source).count == 1)
      return false;
   /* If both have equally many bands, each band has the squares of its own elements. */
   if (reduction == SpvCooperativeMatrixReduce2x2Mask)
      return bands(source).count != bands(result).count;
   return reduction & SpvCooperativeMatrixReduceColumnMask;
}

std::string describe(const ScopePlan &plan, std::span<const glsl_cmat_description> matrices)
{
   std::string text = std::to_string(plan.subgroups) + " subgroups";
   if (!plan.is_cut)
      return text + ", each with whole matrices";
   constexpr const char *forms[] = {"whole", "staged", "a workgroup's matrix"};
   text += std::string(", B ") + forms[size_t(plan.b)];
   for (unsigned i = 0; i < plan.staged_elements.size(); ++i) {
      if (plan.staged_elements[i])
         text += ", staging " + std::to_string(plan.staged_elements[i]) + " x " +
                 std::to_string(8u << i) + " bits";
   }
   for (const glsl_cmat_description &desc : matrices) {
      if (!is_of_workgroup(desc))
         continue;
      const Bands bands = plan.bands(desc);
      text +=
         "; " + describe(desc) + ": " +
         (bands.count == 1 ? "whole"
                           : std::to_string(bands.count) + " bands of " +
                                std::to_string(bands.lines) + (is_b(desc) ? " columns" : " rows"));
   }
   return text;
}

Result<std::optional<ScopePlan>> plan_cmat_scope(nir_shader *nir, const CmatUses &uses,
                                                 const ScopeOptions &options)
{
   if (std::ranges::none_of(uses.matrices, is_of_workgroup))
      return std::optional<ScopePlan>();
   if (has_workgroup_matrices_elsewhere(nir))
      return Error{"cooperative matrices of workgroup scope in a function that an operation on "
                   "matrices calls"};
   const uint16_t *size = nir->info.workgroup_size;
   const uint32_t invocations = uint32_t(size[0]) * size[1] * size[2];
   if (invocations % options.subgroup_size != 0) {
      return Error{"cooperative matrices of workgroup scope in a workgroup of " +
                   std::to_string(invocations) + " invocations, which subgroups of " +
                   std::to_string(options.subgroup_size) + " do not fill"};
   }
   const uint32_t subgroups = invocations / options.subgroup_size;
   const std::optional<ScopePlan> whole = ScopePlan{.subgroups = subgroups};
   /* A matrix without a use (SPV_NV_cooperative_matrix) may be B. */
   const bool may_be_b = std::ranges::any_of(uses.matrices, [](const glsl_cmat_description &desc) {
      return is_of_workgroup(desc) && desc.use == GLSL_CMAT_USE_NONE;
   });
   if (may_be_b || options.keeps_whole)
      return whole;
   for (const FormOfB b : {FormOfB::workgroup_matrix, FormOfB::staged, FormOfB::whole}) {
      if ((b != FormOfB::whole && !options.cuts_b) ||
          (b == FormOfB::workgroup_matrix && !options.has_workgroup_matrices))
         continue;
      const ScopePlan plan = {.subgroups = subgroups, .is_cut = true, .b = b};
      if (const auto complete = with_exchange(nir, plan, options.staging_bytes))
         return complete;
   }
   return whole;
}

} // namespace weft
