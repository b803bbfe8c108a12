// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/cmat_uses.h"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

/// The component type of a matrix.  Whether the bits of an integer have a sign is for each
/// operation to say.
std::optional<ComponentType> component_type(uint8_t base_type, bool is_signed)
{
   using enum ComponentType;
   switch (glsl_base_type(base_type)) {
   case GLSL_TYPE_FLOAT16:
      return f16;
   case GLSL_TYPE_FLOAT:
      return f32;
   case GLSL_TYPE_DOUBLE:
      return f64;
   case GLSL_TYPE_INT8:
   case GLSL_TYPE_UINT8:
      return is_signed ? s8 : u8;
   case GLSL_TYPE_INT16:
   case GLSL_TYPE_UINT16:
      return is_signed ? s16 : u16;
   case GLSL_TYPE_INT:
   case GLSL_TYPE_UINT:
      return is_signed ? s32 : u32;
   case GLSL_TYPE_INT64:
   case GLSL_TYPE_UINT64:
      return is_signed ? s64 : u64;
   default:
      return std::nullopt;
   }
}

bool is_operand(const MatrixOperation &op, const glsl_cmat_description &desc,
                std::optional<ComponentType> type)
{
   const auto is = [&](ComponentType operand, uint32_t rows, uint32_t cols) {
      return desc.rows == rows && desc.cols == cols && type == operand;
   };
   switch (glsl_cmat_use(desc.use)) {
   case GLSL_CMAT_USE_A:
      return is(op.a, op.m, op.k);
   case GLSL_CMAT_USE_B:
      return is(op.b, op.k, op.n);
   case GLSL_CMAT_USE_ACCUMULATOR:
      return is(op.c, op.m, op.n) || is(op.result, op.m, op.n);
   default:
      return false;
   }
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
      return Error{"OpCooperativeMatrixMulAddKHR of matrices that do not fit: " + describe(a) +
                   " * " + describe(b) + " + " + describe(c) + " -> " + describe(d)};
   }
   const unsigned mask = nir_intrinsic_cmat_signed_mask(muladd);
   const auto type_a = component_type(a.element_type, mask & NIR_CMAT_A_SIGNED);
   const auto type_b = component_type(b.element_type, mask & NIR_CMAT_B_SIGNED);
   const auto type_c = component_type(c.element_type, mask & NIR_CMAT_C_SIGNED);
   const auto type_d = component_type(d.element_type, mask & NIR_CMAT_RESULT_SIGNED);
   if (!type_a || !type_b || !type_c || !type_d)
      return Error{"OpCooperativeMatrixMulAddKHR of an unknown component type"};
   return MatrixOperation{d.rows,  d.cols,  a.cols,  *type_a,
                          *type_b, *type_c, *type_d, nir_intrinsic_saturate(muladd) != 0};
}

class State {
public:
   explicit State(nir_shader *nir) : nir(nir) {}

   Result<CmatUses> run()
   {
      nir_function_impl *impl = nir_shader_get_entrypoint(nir);
      nir_foreach_function_temp_variable(var, impl)
         add_type(var->type);
      nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp)
         add_type(var->type);
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic)
               add_instr(nir_instr_as_intrinsic(instr));
         }
      }
      if (error)
         return *error;
      return uses;
   }

private:
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
      const bool known = std::ranges::any_of(uses.matrices, [&](const glsl_cmat_description &d) {
         return memcmp(&d, &desc, sizeof(d)) == 0;
      });
      if (!known)
         uses.matrices.push_back(desc);
   }

   void add_instr(nir_intrinsic_instr *instr)
   {
      if (instr->intrinsic == nir_intrinsic_cmat_length)
         add(nir_intrinsic_cmat_desc(instr));
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
   return State(nir).run();
}

bool has_operand(const MatrixOperation &op, const glsl_cmat_description &desc)
{
   return is_operand(op, desc, component_type(desc));
}

bool has_operand_of_any_sign(const MatrixOperation &op, const glsl_cmat_description &desc)
{
   return is_operand(op, desc, component_type(desc.element_type, true)) ||
          is_operand(op, desc, component_type(desc.element_type, false));
}

unsigned component_bits(const glsl_cmat_description &desc)
{
   return glsl_base_type_get_bit_size(glsl_base_type(desc.element_type));
}

bool has_signed_components(const glsl_cmat_description &desc)
{
   switch (glsl_base_type(desc.element_type)) {
   case GLSL_TYPE_INT8:
   case GLSL_TYPE_INT16:
   case GLSL_TYPE_INT:
   case GLSL_TYPE_INT64:
      return true;
   default:
      return false;
   }
}

std::optional<ComponentType> component_type(const glsl_cmat_description &desc)
{
   return component_type(desc.element_type, has_signed_components(desc));
}

const char *describe(glsl_cmat_use use)
{
   switch (use) {
   case GLSL_CMAT_USE_A:
      return "A";
   case GLSL_CMAT_USE_B:
      return "B";
   case GLSL_CMAT_USE_ACCUMULATOR:
      return "accumulator";
   default:
      return "no use";
   }
}

std::string describe(const glsl_cmat_description &desc)
{
   const auto type = component_type(desc);
   return std::to_string(desc.rows) + "x" + std::to_string(desc.cols) + " " +
          (type ? component_type_name(*type) : "of an unknown type") + " (" +
          describe(glsl_cmat_use(desc.use)) + ")";
}

std::string describe(const MatrixOperation &op)
{
   return std::to_string(op.m) + "x" + std::to_string(op.n) + "x" + std::to_string(op.k) + ": " +
          component_type_name(op.a) + " * " + component_type_name(op.b) + " + " +
          component_type_name(op.c) + " -> " + component_type_name(op.result) +
          (op.saturating ? ", saturating" : "");
}

} // namespace weft
