// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/matrix_types.h"

#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

#include "nir_passes/matrices/cmat_description.h"

namespace weft::spirv {

Kind component_kind(const glsl_type *matrix)
{
   return has_real_components(*glsl_get_cmat_description(matrix)) ? Kind::real : Kind::integer;
}

Id matrix_component_type(Translator &t, const glsl_type *matrix)
{
   const glsl_cmat_description &desc = *glsl_get_cmat_description(matrix);
   const unsigned bits = component_bits(desc);
   return has_signed_components(desc) ? t.m.type_int(bits, true)
                                      : t.type(component_kind(matrix), bits);
}

Id matrix_type(Translator &t, const glsl_type *matrix)
{
   const glsl_cmat_description &desc = *glsl_get_cmat_description(matrix);
   t.m.capability(SpvCapabilityCooperativeMatrixKHR);
   t.m.extension("SPV_KHR_cooperative_matrix");
   const SpvCooperativeMatrixUse use =
      desc.use == GLSL_CMAT_USE_A   ? SpvCooperativeMatrixUseMatrixAKHR
      : desc.use == GLSL_CMAT_USE_B ? SpvCooperativeMatrixUseMatrixBKHR
                                    : SpvCooperativeMatrixUseMatrixAccumulatorKHR;
   return t.m.type(SpvOpTypeCooperativeMatrixKHR,
                   {matrix_component_type(t, matrix), scope(t, SpvScopeSubgroup),
                    t.m.constant_uint(desc.rows), t.m.constant_uint(desc.cols),
                    t.m.constant_uint(uint32_t(use))});
}

} // namespace weft::spirv
