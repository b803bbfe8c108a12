// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#ifdef SAMPLED
Color look_up(vec3 color)
{
   return textureLod(table, (color * (table_side - 1) + 0.5) / table_side, 0);
}
#else
Color texel(ivec3 at)
{
   at = clamp(at, ivec3(0), ivec3(table_side - 1));
   return decode(table[(at.z * table_side + at.y) * table_side + at.x]);
}

Color row(ivec3 at, float part)
{
   return mix(texel(at), texel(at + ivec3(1, 0, 0)), part);
}

Color slice(ivec3 at, vec2 part)
{
   return mix(row(at, part.x), row(at + ivec3(0, 1, 0), part.x), part.y);
}

Color look_up(vec3 color)
{
   const vec3 at = color * (table_side - 1);
   const ivec3 first = ivec3(floor(at));
   const vec3 part = at - vec3(first);
   return mix(slice(first, part.xy), slice(first + ivec3(0, 0, 1), part.xy), part.z);
}
#endif

void main()
{
   store(look_up(load(place).rgb));
}
