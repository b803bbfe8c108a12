# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Shaders for weftc_test.py."""

SHADER = """#version 460
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint N = 16;
layout(set = 1, binding = 2) buffer Data { float16_t data[]; };
#define MAT(rows, cols, use) coopmat<float16_t, gl_ScopeSubgroup, rows, cols, gl_MatrixUse##use>
void main() {
   MAT(16, 16, A) a;
   MAT(16, N, B) b;
   coopMatLoad(a, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(b, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   MAT(16, N, Accumulator) c = coopMatMulAdd(a, b, MAT(16, N, Accumulator)(0));
   coopMatStore(c, data, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
}
"""

# Divergent control flow and the three kinds of addresses.
SCALARS = """#version 460
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Out { float result[]; };
layout(set = 0, binding = 1) buffer In { uint index[32]; float values[]; };
layout(push_constant) uniform Constants { uint scale; };
void main() {
   uint i = gl_GlobalInvocationID.x;
   float sum = values[gl_WorkGroupID.x] + values[i] + values[2 * i];
   for (uint n = 0; n < (index[i % 32] & 3); n++)
      sum += values[index[(i + n) % 32]];
   result[i] = sum * float(scale);
}
"""

# One element of a matrix depends on the size of the subgroup.
SIZES = """#version 460
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_shader_subgroup_basic : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { float outside[16]; float result[]; };
layout(set = 0, binding = 1) buffer In { float values[256]; };
void main() {
   if (gl_SubgroupID == 0) {
      if (gl_SubgroupInvocationID == 0)
         values[2 * 16 + 5] = float(gl_SubgroupSize);
      controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsBuffer,
                     gl_SemanticsAcquireRelease);
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c =
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(1);
      coopMatStore(c, result, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(c, values, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(c, result, 256 * gl_WorkGroupID.x, 16, gl_CooperativeMatrixLayoutColumnMajor);
   }
}
"""

# A pointer to an array and an exponent of two, which passes called optimisations have to lower.
ARRAYS = """#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { uint8_t data[]; };
uint8_t pick(inout uint8_t values[4], uint i) { values[i] *= uint8_t(4); return values[3 - i]; }
void main() {
   uint8_t values[4];
   for (uint i = 0; i < 4; i++)
      values[i] = data[i + gl_LocalInvocationIndex];
   data[gl_LocalInvocationIndex + 64] = pick(values, data[gl_LocalInvocationIndex] & 3);
}
"""

ENDLESS = """#version 460
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() {
   while (data[0] == data[0])
      data[1]++;
}
"""

FAR = """#version 460
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[0x3fff0000] = 1; }
"""
