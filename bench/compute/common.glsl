// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// The push constants of compute.cc: sizes and factors.

layout(push_constant) uniform Constants
{
   uint n, p1, p2;
   float f0, f1;
};
