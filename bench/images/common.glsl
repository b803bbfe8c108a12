// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// The bindings of images.cc, and texels of two formats: RGBA8 or R32F is defined. The source of
// texels is defined as STORAGE, FETCHED, SAMPLED or BUFFERS.

layout(local_size_x = 16, local_size_y = 16) in;

const int side = 2048, table_side = 33, resized_side = 1536;
ivec2 place = ivec2(gl_GlobalInvocationID.xy);

#ifdef RGBA8
#define FORMAT rgba8
#define Color vec4
#define COMPONENTS rgba
Color decode(uint word) { return unpackUnorm4x8(word); }
uint encode(Color color) { return packUnorm4x8(color); }
vec4 widen(Color color) { return color; }
#else
#define FORMAT r32f
#define Color float
#define COMPONENTS r
Color decode(uint word) { return uintBitsToFloat(word); }
uint encode(Color color) { return floatBitsToUint(color); }
vec4 widen(Color color) { return vec4(color); }
#endif

#ifdef BUFFERS
layout(binding = 4, std430) readonly buffer From { uint from[]; };
layout(binding = 5, std430) writeonly buffer To { uint to[]; };
layout(binding = 6, std430) readonly buffer Table { uint table[]; };
Color load(ivec2 at) { return decode(from[at.y * side + at.x]); }
void store(Color color) { to[place.y * side + place.x] = encode(color); }
#else
layout(binding = 0, FORMAT) readonly uniform image2D from;
layout(binding = 1, FORMAT) writeonly uniform image2D to;
layout(binding = 2) uniform sampler2D sampled;
layout(binding = 3) uniform sampler3D table;
#ifdef FETCHED
Color load(ivec2 at) { return texelFetch(sampled, at, 0).COMPONENTS; }
#else
Color load(ivec2 at) { return imageLoad(from, at).COMPONENTS; }
#endif
void store(Color color) { imageStore(to, place, widen(color)); }
#endif
