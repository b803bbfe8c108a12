// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The one table of the extensions of cooperative matrices. It decides which extensions are listed,
/// how queries of features and properties are answered, which requests vkCreateDevice accepts and
/// passes on, and which shaders the layer reads. The build writes the manifest from it.

#pragma once

#include <vulkan/vulkan_core.h>

#include <bitset>
#include <span>
#include <string>
#include <vector>

namespace weft::layer {

struct MatrixPlan;
struct PlanSettings;

enum class Extension {
   khr_cooperative_matrix,
   nv_cooperative_matrix,
   nv_cooperative_matrix2,
   nv_cooperative_matrix_decode_vector,
   ext_cooperative_matrix_maintenance1,
   qcom_cooperative_matrix_conversion,
   arm_cooperative_matrix_layouts,
   khr_shader_bfloat16,
   ext_shader_float8,
   count,
   none = count,
};
inline constexpr size_t extension_count = size_t(Extension::count);

/// The supporter of an extension: driver, layer or both.
enum class Support {
   absent,   ///< neither, or the driver's own is hidden
   native,   ///< the driver; the layer does nothing
   extended, ///< the driver, and the layer adds to it
   lowered,  ///< the layer; the driver must not see it
};

struct ExtensionRow {
   Extension extension;
   const char *name;
   uint32_t spec_version;
   /// The extension below it: the driver's own can be used only on top of the driver's own base.
   Extension base;
   /// The extension has uses without matrices: only the features of `matrix_features` are hidden.
   bool has_other_uses;

   /// The VkBool32s behind the header of the struct of features. The masks have a bit for each.
   VkStructureType features;
   uint32_t feature_count;
   uint32_t matrix_features;
   uint32_t lowered_features;

   /// The 32-bit words behind the header of the struct of properties; null without a struct.
   VkStructureType properties = VK_STRUCTURE_TYPE_MAX_ENUM;
   uint32_t property_words = 0;
   void (*write_properties)(const MatrixPlan &, void *structure) = nullptr;

   /// The command of a physical device that lists its matrices, or null.
   const char *query = nullptr;

   /// The capabilities of shaders that the layer reads, and the names by which a module declares
   /// them.
   std::vector<uint32_t> spirv_capabilities;
   std::vector<std::string> spirv_extensions;

   /// The reason why the layer cannot support it, above a driver that it can lower for; or null.
   const char *(*why_not_lowered)(const MatrixPlan &);
   /// Whether the layer adds anything to the driver's own.
   bool (*adds_to_native)(const PlanSettings &, const MatrixPlan &);
};

/// The rows of the table, in the order of Extension.
std::span<const ExtensionRow> extension_rows();
const ExtensionRow *find_extension(const char *name);

class ExtensionSet {
public:
   bool has(Extension e) const { return bits[size_t(e)]; }
   void add(Extension e) { bits.set(size_t(e)); }
   bool empty() const { return bits.none(); }

private:
   std::bitset<extension_count> bits;
};

/// A struct of a row's features, as a mask.
uint32_t read_features(const ExtensionRow &, const void *structure);
/// Sets the features in the mask `which` to their bits in `values`.
void write_features(const ExtensionRow &, void *structure, uint32_t which, uint32_t values);

} // namespace weft::layer
