// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The table of matrix component types. All code that depends on a type queries this table: a new
/// type is a row here, not a case elsewhere.

#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// A matrix component type, with the values of VkComponentTypeKHR.
enum class ComponentType : uint32_t {
   f16 = 0,
   f32 = 1,
   f64 = 2,
   s8 = 3,
   s16 = 4,
   s32 = 5,
   s64 = 6,
   u8 = 7,
   u16 = 8,
   u32 = 9,
   u64 = 10,
   bf16 = 1000141000, ///< VK_KHR_shader_bfloat16
   e4m3 = 1000491002, ///< VK_EXT_shader_float8; finite values and NaN
   e5m2 = 1000491003, ///< VK_EXT_shader_float8
};

enum class NumberKind : uint8_t { real, signed_integer, unsigned_integer };

struct ComponentTypeInfo {
   ComponentType type;
   const char *name; ///< in messages and symbols: "f16", "s8"
   unsigned bits;
   NumberKind kind;
   /// The third operand of OpTypeFloat, for types that are not IEEE 754's type of that width.
   std::optional<uint32_t> spirv_encoding;
   /// NIR's type, a glsl_base_type (cmat_description.h).
   uint8_t base_type;
};

/// All component types, each once.
std::span<const ComponentTypeInfo> component_types();

/// The type's row; the type must have one.
const ComponentTypeInfo &component_type_info(ComponentType);

inline const char *component_type_name(ComponentType type)
{
   return component_type_info(type).name;
}

inline unsigned component_bits(ComponentType type)
{
   return component_type_info(type).bits;
}

} // namespace weft
