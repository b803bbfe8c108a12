// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// C = A·B with VK_KHR_cooperative_matrix: M×K by K×N halves, sums of f32.  A workgroup computes a
// 64×64 block of C; each of its four subgroups computes 32×32 of it as 2×2 tiles.  A and B go
// through shared memory, 16 columns of A and 16 rows of B at a time.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#pragma use_vulkan_memory_model

layout(constant_id = 0) const uint M = 64;
layout(constant_id = 1) const uint N = 64;
layout(constant_id = 2) const uint K = 64;
layout(local_size_x = 128) in; // four subgroups of 32
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

const uint block = 64, step = 16;
shared float16_t a_block[block * step]; // row-major, `step` columns
shared float16_t b_block[step * block]; // row-major, `block` columns

void main()
{
   const uint row = gl_WorkGroupID.y * block, column = gl_WorkGroupID.x * block;
   const uint own_row = gl_SubgroupID / 2 * 32, own_column = gl_SubgroupID % 2 * 32;
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sums[2][2];
   for (uint i = 0; i < 2; i++)
      for (uint j = 0; j < 2; j++)
         sums[i][j] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);

   for (uint k = 0; k < K; k += step) {
      for (uint e = gl_LocalInvocationIndex; e < block * step; e += gl_WorkGroupSize.x) {
         a_block[e] = a[(row + e / step) * K + k + e % step];
         b_block[e] = b[(k + e / block) * N + column + e % block];
      }
      barrier();
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left[2];
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right[2];
      for (uint i = 0; i < 2; i++) {
         coopMatLoad(left[i], a_block, (own_row + i * 16) * step, step,
                     gl_CooperativeMatrixLayoutRowMajor);
         coopMatLoad(right[i], b_block, own_column + i * 16, block,
                     gl_CooperativeMatrixLayoutRowMajor);
      }
      for (uint i = 0; i < 2; i++)
         for (uint j = 0; j < 2; j++)
            sums[i][j] = coopMatMulAdd(left[i], right[j], sums[i][j]);
      barrier();
   }
   for (uint i = 0; i < 2; i++)
      for (uint j = 0; j < 2; j++)
         coopMatStore(sums[i][j], c,
                      (row + own_row + i * 16) * N + column + own_column + j * 16, N,
                      gl_CooperativeMatrixLayoutRowMajor);
}
