// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A
{
   float a[];
};
layout(binding = 1) writeonly buffer B
{
   float b[];
};
layout(binding = 2) readonly buffer I
{
   uint ix[];
};
void main()
{
   uint i = gl_GlobalInvocationID.x;
   b[i] = a[ix[i]];
}
