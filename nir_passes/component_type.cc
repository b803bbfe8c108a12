// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/component_type.h"

#include "nir_passes/spirv_enums.h"

#include "compiler/glsl_types.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace weft {

namespace {

using enum NumberKind;
using Type = ComponentType;

constexpr uint32_t bf16_encoding = WeftSpvFPEncodingBFloat16KHR,
                   e4m3_encoding = WeftSpvFPEncodingFloat8E4M3EXT,
                   e5m2_encoding = WeftSpvFPEncodingFloat8E5M2EXT;

// clang-format off
constexpr ComponentTypeInfo table[] = {
   {Type::f16,  "f16",  16, real,             {},            GLSL_TYPE_FLOAT16},
   {Type::f32,  "f32",  32, real,             {},            GLSL_TYPE_FLOAT},
   {Type::f64,  "f64",  64, real,             {},            GLSL_TYPE_DOUBLE},
   {Type::s8,   "s8",    8, signed_integer,   {},            GLSL_TYPE_INT8},
   {Type::s16,  "s16",  16, signed_integer,   {},            GLSL_TYPE_INT16},
   {Type::s32,  "s32",  32, signed_integer,   {},            GLSL_TYPE_INT},
   {Type::s64,  "s64",  64, signed_integer,   {},            GLSL_TYPE_INT64},
   {Type::u8,   "u8",    8, unsigned_integer, {},            GLSL_TYPE_UINT8},
   {Type::u16,  "u16",  16, unsigned_integer, {},            GLSL_TYPE_UINT16},
   {Type::u32,  "u32",  32, unsigned_integer, {},            GLSL_TYPE_UINT},
   {Type::u64,  "u64",  64, unsigned_integer, {},            GLSL_TYPE_UINT64},
   {Type::bf16, "bf16", 16, real,             bf16_encoding, GLSL_TYPE_BFLOAT16},
   {Type::e4m3, "e4m3",  8, real,             e4m3_encoding, GLSL_TYPE_FLOAT_E4M3FN},
   {Type::e5m2, "e5m2",  8, real,             e5m2_encoding, GLSL_TYPE_FLOAT_E5M2},
};
// clang-format on

} // namespace

std::span<const ComponentTypeInfo> component_types()
{
   return table;
}

const ComponentTypeInfo &component_type_info(ComponentType type)
{
   const auto *info = std::ranges::find(table, type, &ComponentTypeInfo::type);
   assert(info != std::end(table));
   return *info;
}

} // namespace weft
