// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// The product of product_matrix.comp, for devices without cooperative matrices or half floats.
#version 450

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

void main()
{
   for (uint i = gl_LocalInvocationIndex; i < 256; i += gl_WorkGroupSize.x) {
      float sum = 0;
      for (uint k = 0; k < 16; k++) {
         uint x = i / 16 * 16 + k, y = k * 16 + i % 16;
         sum += unpackHalf2x16(a[x / 2])[x % 2] * unpackHalf2x16(b[y / 2])[y % 2];
      }
      c[i] = sum;
   }
}
