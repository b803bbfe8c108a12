// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A
{
   float x[];
};
layout(binding = 1) readonly buffer B
{
   float y[];
};
layout(binding = 2) writeonly buffer C
{
   float z[];
};
void main()
{
   uint i = gl_GlobalInvocationID.x;
   if (i < n)
      z[i] = f0 * x[i] + y[i];
}
