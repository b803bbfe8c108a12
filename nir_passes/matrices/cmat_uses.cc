// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_uses.h"

#include "nir_passes/matrices/cmat_intrinsics.h"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

std::optional<MatrixScope> matrix_scope(const glsl_cmat_description &desc)
{
   switch (desc.scope) {
   case SCOPE_SUBGROUP:
      return MatrixScope::subgroup;
   case SCOPE_WORKGROUP:
      return MatrixScope::workgroup;
   default:
      return std::nullopt;
   }
}

/// Whether a matrix, taken as one with components of `type`, matches an operand of the operation in
/// use, scope and type, and in size by `fits(rows, operation's rows, cols, operation's cols)`.
template <typename Fits>
bool is_operand(const MatrixOperation &op, const glsl_cmat_description &desc,
                std::optional<ComponentType> type, const Fits &fits)
{
   const auto is = [&](ComponentType operand, uint32_t rows, uint32_t cols) {
      return type == operand && op.scope == matrix_scope(desc) &&
             fits(desc.rows, rows, desc.cols, cols);
   };
   switch (glsl_cmat_use(desc.use)) {
   case GLSL_CMAT_USE_A:
      return is(op.a, op.m, op.k);
   case GLSL_CMAT_USE_B:
      return is(op.b, op.k, op.n);
   case GLSL_CMAT_USE_ACCUMULATOR:
      return is(op.c, op.m, op.n) || is(op.result, op.m, op.n);
   case GLSL_CMAT_USE_NONE:
      /* SPV_NV_cooperative_matrix: the matrix may get any use. */
      return is(op.a, op.m, op.k) || is(op.b, op.k, op.n) || is(op.c, op.m, op.n) ||
             is(op.result, op.m, op.n);
   }
   return false;
}

bool same_size(uint32_t rows, uint32_t op_rows, uint32_t cols, uint32_t op_cols)
{
   return rows == op_rows && cols == op_cols;
}

template <typename Fits>
bool is_operand_of_any_sign(const MatrixOperation &op, const glsl_cmat_description &desc,
                            const Fits &fits)
{
   const auto base = glsl_base_type(desc.element_type);
   return is_operand(op, desc, component_type(base, true), fits) ||
          is_operand(op, desc, component_type(base, false), fits);
}

Result<MatrixOperation> operation_of(nir_intrinsic_instr *muladd)
{
   const auto matrix = [&](unsigned source) {
      return *glsl_get_cmat_description(nir_src_as_deref(muladd->src[source])->type);
   };
   const glsl_cmat_description d = matrix(0), a = matrix(1), b = matrix(2), c = matrix(3);
   if (a.cols != b.rows || a.rows != d.rows || b.cols != d.cols || c.rows != d.rows ||
       c.cols != d.cols || a.use != GLSL_CMAT_USE_A || b.use != GLSL_CMAT_USE_B ||
       c.use != GLSL_CMAT_USE_ACCUMULATOR || d.use != GLSL_CMAT_USE_ACCUMULATOR) {
      return Error{"a multiplication of matrices whose sizes do not match: " + describe(a) + " * " +
                   describe(b) + " + " + describe(c) + " -> " + describe(d)};
   }
   const auto operation = matrix_operation(d, a, b, c, nir_intrinsic_cmat_signed_mask(muladd),
                                           nir_intrinsic_saturate(muladd) != 0);
   if (!operation)
      return Error{"a multiplication of matrices of an unknown component type or scope"};
   return *operation;
}

bool is_same(const glsl_cmat_description &x, const glsl_cmat_description &y)
{
   return memcmp(&x, &y, sizeof(x)) == 0;
}

class UseCollector {
public:
   explicit UseCollector(nir_shader *nir) : nir(nir) {}

   Result<CmatUses> run()
   {
      nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp)
         add_type(var->type);
      /* Includes the functions that intrinsics call (cmat_callee.h). */
      nir_foreach_function_impl(impl, nir)
         add_function(impl);
      if (error)
         return *error;
      return uses;
   }

private:
   void add_function(nir_function_impl *impl)
   {
      nir_foreach_function_temp_variable(var, impl)
         add_type(var->type);
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic)
               add_instr(nir_instr_as_intrinsic(instr));
         }
      }
   }

   void add_type(const glsl_type *type)
   {
      if (glsl_type_is_cmat(type)) {
         add(*glsl_get_cmat_description(type));
      } else if (glsl_type_is_array(type)) {
         add_type(glsl_get_array_element(type));
      } else if (glsl_type_is_struct(type)) {
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            add_type(glsl_get_struct_field(type, i));
      }
   }

   void add(const glsl_cmat_description &desc)
   {
      const bool known = std::ranges::any_of(
         uses.matrices, [&](const glsl_cmat_description &d) { return is_same(d, desc); });
      if (!known)
         uses.matrices.push_back(desc);
   }

   void add_conversion(nir_intrinsic_instr *instr)
   {
      const auto matrix = [&](unsigned source) {
         return *glsl_get_cmat_description(nir_src_as_deref(instr->src[source])->type);
      };
      const CmatConversion conversion = {matrix(1), matrix(0)};
      const bool known = std::ranges::any_of(uses.conversions, [&](const CmatConversion &c) {
         return is_same(c.from, conversion.from) && is_same(c.to, conversion.to);
      });
      if (!known && !is_same(conversion.from, conversion.to))
         uses.conversions.push_back(conversion);
   }

   void add_instr(nir_intrinsic_instr *instr)
   {
      if (nir_intrinsic_has_cmat_desc(instr))
         add(nir_intrinsic_cmat_desc(instr));
      uses.single_elements |= needs_element_places(instr->intrinsic) || converts_use(instr);
      if (instr->intrinsic == nir_intrinsic_cmat_unary_op)
         add_conversion(instr);
      if (instr->intrinsic != nir_intrinsic_cmat_muladd)
         return;
      Result<MatrixOperation> operation = operation_of(instr);
      if (!operation)
         error = error ? error : operation.error();
      else if (std::ranges::find(uses.operations, *operation) == uses.operations.end())
         uses.operations.push_back(*operation);
   }

   nir_shader *nir;
   CmatUses uses;
   std::optional<Error> error;
};

} // namespace

Result<CmatUses> gather_cmat_uses(nir_shader *nir)
{
   return UseCollector(nir).run();
}

bool has_operand(const MatrixOperation &op, const glsl_cmat_description &desc)
{
   return is_operand(op, desc, component_type(desc), same_size);
}

bool has_operand_of_any_sign(const MatrixOperation &op, const glsl_cmat_description &desc)
{
   return is_operand_of_any_sign(op, desc, same_size);
}

bool has_component(const MatrixOperation &op, const glsl_cmat_description &desc)
{
   glsl_cmat_description in_scope = desc;
   in_scope.scope = op.scope == MatrixScope::subgroup ? SCOPE_SUBGROUP : SCOPE_WORKGROUP;
   return is_operand_of_any_sign(op, in_scope,
                                 [](uint32_t, uint32_t, uint32_t, uint32_t) { return true; });
}

bool has_operand(const MatrixSupport &support, const glsl_cmat_description &desc)
{
   const auto of_flexible = [&](const FlexibleOperation &f) {
      const auto fits = [&](uint32_t rows, uint32_t row_unit, uint32_t cols, uint32_t col_unit) {
         return rows % row_unit == 0 && cols % col_unit == 0 && rows <= f.max_dimension &&
                cols <= f.max_dimension;
      };
      /* SPV_NV_cooperative_matrix has no flexible sizes. */
      return desc.use != GLSL_CMAT_USE_NONE && is_operand_of_any_sign(f.granularity, desc, fits);
   };
   return std::ranges::any_of(
             support.operations,
             [&](const MatrixOperation &op) { return has_operand_of_any_sign(op, desc); }) ||
          std::ranges::any_of(support.flexible, of_flexible);
}

std::optional<MatrixOperation> matrix_operation(const glsl_cmat_description &d,
                                                const glsl_cmat_description &a,
                                                const glsl_cmat_description &b,
                                                const glsl_cmat_description &c,
                                                nir_cmat_signed signs, bool saturating)
{
   const auto type = [&](const glsl_cmat_description &desc, nir_cmat_signed sign) {
      return component_type(glsl_base_type(desc.element_type), (signs & sign) != 0);
   };
   const auto type_a = type(a, NIR_CMAT_A_SIGNED), type_b = type(b, NIR_CMAT_B_SIGNED),
              type_c = type(c, NIR_CMAT_C_SIGNED), type_d = type(d, NIR_CMAT_RESULT_SIGNED);
   const auto scope = matrix_scope(d);
   if (!type_a || !type_b || !type_c || !type_d || !scope)
      return std::nullopt;
   return MatrixOperation{d.rows,  d.cols,  a.cols,     *type_a, *type_b,
                          *type_c, *type_d, saturating, *scope};
}

std::string describe(const MatrixOperation &op)
{
   return std::to_string(op.m) + "x" + std::to_string(op.n) + "x" + std::to_string(op.k) + ": " +
          component_type_name(op.a) + " * " + component_type_name(op.b) + " + " +
          component_type_name(op.c) + " -> " + component_type_name(op.result) +
          (op.saturating ? ", saturating" : "");
}

} // namespace weft
