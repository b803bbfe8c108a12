// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/validate_cmat.h"

#include <algorithm>
#include <optional>
#include <set>

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

bool is_signed(uint8_t base_type)
{
   switch (glsl_base_type(base_type)) {
   case GLSL_TYPE_INT8:
   case GLSL_TYPE_INT16:
   case GLSL_TYPE_INT:
   case GLSL_TYPE_INT64:
      return true;
   default:
      return false;
   }
}

const char *name(glsl_cmat_use use)
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

std::string size(uint32_t rows, uint32_t cols)
{
   return std::to_string(rows) + "x" + std::to_string(cols);
}

/// Whether the operation has an operand of this use, size and type, whatever the sign of its
/// integers.
bool has_operand(const MatrixOperation &op, const glsl_cmat_description &desc)
{
   const auto is = [&](ComponentType type, uint32_t rows, uint32_t cols) {
      return desc.rows == rows && desc.cols == cols &&
             (component_type(desc.element_type, true) == type ||
              component_type(desc.element_type, false) == type);
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

/// "8x8 f16, 16x16 f16, …": the types that there are for a use.
std::string list_operands(const Target &target, glsl_cmat_use use)
{
   std::set<std::string> seen;
   std::string list;
   const auto add = [&](ComponentType type, uint32_t rows, uint32_t cols) {
      const std::string item = size(rows, cols) + " " + component_type_name(type);
      if (seen.insert(item).second)
         list += (list.empty() ? "" : ", ") + item;
   };
   for (const MatrixOperation &op : target.operations) {
      if (use == GLSL_CMAT_USE_A)
         add(op.a, op.m, op.k);
      if (use == GLSL_CMAT_USE_B)
         add(op.b, op.k, op.n);
      if (use == GLSL_CMAT_USE_ACCUMULATOR) {
         add(op.c, op.m, op.n);
         add(op.result, op.m, op.n);
      }
   }
   return list.empty() ? "none" : list;
}

class State {
public:
   State(nir_shader *nir, const Target &target) : nir(nir), target(target) {}

   Result<bool> run()
   {
      nir_function_impl *impl = nir_shader_get_entrypoint(nir);
      nir_foreach_function_temp_variable(var, impl)
         check_variable(var->type);
      nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp)
         check_variable(var->type);
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic)
               check_instr(nir_instr_as_intrinsic(instr));
         }
      }
      if (!error.empty())
         return Error{error};
      return true;
   }

private:
   void fail(std::string message)
   {
      if (error.empty())
         error = std::move(message);
   }

   void check_variable(const glsl_type *type)
   {
      if (glsl_type_is_cmat(type)) {
         check(*glsl_get_cmat_description(type));
      } else if (glsl_type_is_array(type)) {
         check_variable(glsl_get_array_element(type));
      } else if (glsl_type_is_struct(type)) {
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            check_variable(glsl_get_struct_field(type, i));
      }
   }

   void check(const glsl_cmat_description &desc)
   {
      const auto accepts = [&](const MatrixOperation &op) { return has_operand(op, desc); };
      if (desc.scope != SCOPE_SUBGROUP) {
         fail("a cooperative matrix " + describe(desc) +
              " has a scope other than the subgroup, which is not supported");
      } else if (std::ranges::none_of(target.operations, accepts)) {
         fail("the cooperative matrix " + describe(desc) + " is not supported; for " +
              name(glsl_cmat_use(desc.use)) +
              " there are: " + list_operands(target, glsl_cmat_use(desc.use)));
      }
   }

   void check_instr(nir_intrinsic_instr *instr)
   {
      if (instr->intrinsic == nir_intrinsic_cmat_length)
         check(nir_intrinsic_cmat_desc(instr));
      if (instr->intrinsic == nir_intrinsic_cmat_muladd)
         check_muladd(instr);
   }

   glsl_cmat_description matrix(nir_intrinsic_instr *instr, unsigned source)
   {
      return *glsl_get_cmat_description(nir_src_as_deref(instr->src[source])->type);
   }

   void check_muladd(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description d = matrix(instr, 0), a = matrix(instr, 1), b = matrix(instr, 2),
                                  c = matrix(instr, 3);
      if (a.cols != b.rows || a.rows != d.rows || b.cols != d.cols || c.rows != d.rows ||
          c.cols != d.cols || a.use != GLSL_CMAT_USE_A || b.use != GLSL_CMAT_USE_B ||
          c.use != GLSL_CMAT_USE_ACCUMULATOR || d.use != GLSL_CMAT_USE_ACCUMULATOR) {
         fail("OpCooperativeMatrixMulAddKHR of matrices that do not fit: " + describe(a) + " * " +
              describe(b) + " + " + describe(c) + " -> " + describe(d));
         return;
      }
      const unsigned mask = nir_intrinsic_cmat_signed_mask(instr);
      const auto type_a = component_type(a.element_type, mask & NIR_CMAT_A_SIGNED);
      const auto type_b = component_type(b.element_type, mask & NIR_CMAT_B_SIGNED);
      const auto type_c = component_type(c.element_type, mask & NIR_CMAT_C_SIGNED);
      const auto type_d = component_type(d.element_type, mask & NIR_CMAT_RESULT_SIGNED);
      if (!type_a || !type_b || !type_c || !type_d) {
         fail("OpCooperativeMatrixMulAddKHR of an unknown component type");
         return;
      }
      const MatrixOperation wanted = {
         d.rows,  d.cols,  a.cols,  *type_a,
         *type_b, *type_c, *type_d, nir_intrinsic_saturate(instr) != 0};
      if (std::ranges::find(target.operations, wanted) == target.operations.end())
         fail("no operation " + describe(wanted) + "; " + list_operations(wanted));
   }

   /// The nearest things to an operation that is not there: those of its size.
   std::string list_operations(const MatrixOperation &wanted)
   {
      std::string list;
      for (const MatrixOperation &op : target.operations) {
         if (op.m == wanted.m && op.n == wanted.n && op.k == wanted.k)
            list += (list.empty() ? "there are " : "; ") + describe(op);
      }
      return list.empty() ? "there is none of that size" : list;
   }

   nir_shader *nir;
   const Target &target;
   std::string error;
};

} // namespace

std::string describe(const glsl_cmat_description &desc)
{
   const auto type = component_type(desc.element_type, is_signed(desc.element_type));
   return size(desc.rows, desc.cols) + " " +
          (type ? component_type_name(*type) : "of an unknown type") + " (" +
          name(glsl_cmat_use(desc.use)) + ")";
}

std::string describe(const MatrixOperation &op)
{
   return size(op.m, op.n) + "x" + std::to_string(op.k) + ": " + component_type_name(op.a) + " * " +
          component_type_name(op.b) + " + " + component_type_name(op.c) + " -> " +
          component_type_name(op.result) + (op.saturating ? ", saturating" : "");
}

Result<bool> validate_cmat(nir_shader *nir, const Target &target)
{
   return State(nir, target).run();
}

} // namespace weft
