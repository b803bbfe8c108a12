// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// C = A·B for matrices of any size with VK_NV_cooperative_matrix2. The workgroup owns a 64×64 tile,
// and tensor layouts clip loads and stores at the edges. When B is loaded, a decode function
// converts 4-bit weights to f16; blocks of 32 weights share an f16 scale.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#pragma use_vulkan_memory_model

layout(constant_id = 0) const uint M = 100; // rows of A and C
layout(constant_id = 1) const uint N = 72;  // rows of B, which is transposed; columns of C
layout(constant_id = 2) const uint K = 96;
layout(local_size_x = 128) in;

struct Block {
   float16_t scale;
   uint8_t nibbles[16]; // weight 2 i + 1 in the upper bits of byte i
};
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer BlockAt { Block block; };
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1, scalar) readonly buffer B { Block b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

float16_t decode(const in BlockAt at, const in uint block_at[2], const in uint in_block[2])
{
   const uint i = in_block[1];
   const uint pair = at.block.nibbles[i / 2];
   return at.block.scale * float16_t(int(i % 2 == 0 ? pair & 15 : pair >> 4) - 8);
}

void main()
{
   const uint tile = 64, step = 32;
   const uint row = gl_WorkGroupID.y * tile, column = gl_WorkGroupID.x * tile;
   tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> a_layout =
      setTensorLayoutDimensionNV(
         createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV), M, K);
   tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> b_layout =
      setTensorLayoutDimensionNV(
         setTensorLayoutBlockSizeNV(
            createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV), 1, 32), N, K);
   // Without a clamp mode, columns behind the edge would be stored to the next row.
   tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> c_layout =
      setTensorLayoutDimensionNV(
         createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV), M, N);
   tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);

   coopmat<float, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator> sum =
      coopmat<float, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator>(0);
   for (uint k = 0; k < K; k += step) {
      coopmat<float16_t, gl_ScopeWorkgroup, 64, 32, gl_MatrixUseA> left;
      coopmat<float16_t, gl_ScopeWorkgroup, 32, 64, gl_MatrixUseB> right;
      coopMatLoadTensorNV(left, a, 0, sliceTensorLayoutNV(a_layout, row, tile, k, step));
      coopMatLoadTensorNV(right, b, 0, sliceTensorLayoutNV(b_layout, column, tile, k, step),
                          transposed, decode);
      sum = coopMatMulAdd(left, right, sum);
   }
   coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(c_layout, row, tile, column, tile));
}
