// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// The softmax of each row of a 16×16 matrix with VK_NV_cooperative_matrix2: a reduction per row, a
// function per element, another reduction.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };

#define MATRIX coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

float larger(const in float p, const in float q) { return max(p, q); }
float sum(const in float p, const in float q) { return p + q; }
float exponential(const in uint row, const in uint column, const in float e) { return exp(e); }

void main()
{
   MATRIX m, largest, total;
   coopMatLoad(m, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatReduceNV(largest, m, gl_CooperativeMatrixReduceRowNV, larger);
   m = m - largest;
   coopMatPerElementNV(m, m, exponential);
   coopMatReduceNV(total, m, gl_CooperativeMatrixReduceRowNV, sum);
   coopMatStore(m / total, y, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
