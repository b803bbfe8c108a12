// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's settings (docs/settings.md). Each comes from the first of: the environment variable
/// WEFT_NAME, a line `weft_cooperative_matrix.name = value` in vk_layer_settings.txt (vkconfig
/// writes it), VkLayerSettingsCreateInfoEXT in the chain of VkInstanceCreateInfo.

#pragma once

#include "layer/plan/plan_settings.h"

#include <vulkan/vulkan_core.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::layer {

inline constexpr char layer_name[] = "VK_LAYER_WEFT_cooperative_matrix";

/// The programs that see VK_EXT_shader_float8 if the driver lacks it, in the order of the setting's
/// values (setting_table.h).
enum class ShowFloat8 {
   automatic, ///< all but games for Windows, which would select their larger models
   always,
   never,
};

struct Settings : PlanSettings {
   bool log = false;      ///< messages on stderr
   bool dump_nir = false; ///< lowered shaders on stderr, in these forms
   bool dump_spirv = false;
};

/// Unknown names and values are ignored, and named in `problems`.
Settings read_settings(const VkInstanceCreateInfo &, std::vector<std::string> &problems);

/// The layer's settings in the text of vk_layer_settings.txt. The first line of a name counts.
std::map<std::string, std::string, std::less<>> parse_settings_file(std::string_view text);

} // namespace weft::layer
