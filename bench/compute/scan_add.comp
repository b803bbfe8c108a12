// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 1) buffer B
{
   uint b[];
};
layout(binding = 2) readonly buffer S
{
   uint sums[];
};
void main()
{
   uint i = gl_GlobalInvocationID.x;
   b[i] += sums[i / 1024];
}
