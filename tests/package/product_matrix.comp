// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// c = a × b, of 16×16 elements in rows, by one subgroup.
#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

void main()
{
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
   coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(y, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
   coopMatStore(coopMatMulAdd(x, y, sum), c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
