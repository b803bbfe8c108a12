// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/component_type.h"

#include "compiler/glsl_types.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace weft {

namespace {

using enum NumberKind;
using Type = ComponentType;

/// FPEncoding of SPV_KHR_bfloat16 and SPV_EXT_float8.
constexpr uint32_t encoding_bf16 = 0, encoding_e4m3 = 4214, encoding_e5m2 = 4215;

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
   {Type::bf16, "bf16", 16, real,             encoding_bf16, GLSL_TYPE_BFLOAT16},
   {Type::e4m3, "e4m3",  8, real,             encoding_e4m3, GLSL_TYPE_FLOAT_E4M3FN},
   {Type::e5m2, "e5m2",  8, real,             encoding_e5m2, GLSL_TYPE_FLOAT_E5M2},
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
