// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// C = A·B + C for one 16×16 tile, rows first; product.cc and product.py run it.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#pragma use_vulkan_memory_model

layout(local_size_x_id = 0) in; // the size of a subgroup
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };

void main()
{
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left;
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right;
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
   coopMatLoad(left, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(right, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   sum = coopMatMulAdd(left, right, sum);
   coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
