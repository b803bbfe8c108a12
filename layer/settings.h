// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's settings (docs/settings.md).  Each comes from the first of: the environment variable
/// WEFT_NAME, a line `weft_cooperative_matrix.name = value` in vk_layer_settings.txt (what vkconfig
/// writes), VkLayerSettingsCreateInfoEXT in the chain of VkInstanceCreateInfo.

#pragma once

#include "vulkan_util/profile.h"

#include <vulkan/vulkan_core.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::layer {

inline constexpr char layer_name[] = "VK_LAYER_WEFT_cooperative_matrix";

enum class Lowering {
   automatic, ///< what the driver can do itself stays as it is
   tiles, ///< every shader is lowered, to the driver's own tiles where it can be built from them
   registers, ///< the driver's own matrices are hidden
};

/// Which programs are shown VK_EXT_shader_float8 where the driver has none.
enum class ShowFloat8 {
   automatic, ///< all but games for Windows, which would then take the heavier of their models
   always,
   never,
};

struct Settings {
   Lowering lowering = Lowering::automatic;
   const Profile *profile = nullptr;
   const Identity *identity =
      nullptr;          ///< to be presented where matrices are lowered; null: the driver's
   std::string refused; ///< why nothing is lowered: a profile that lowered matrices do not fit
   bool hides_float8 = false; ///< from this program, where the driver has none
   bool log = false;          ///< messages on stderr
   bool dump_nir = false;     ///< lowered shaders on stderr, in these forms
   bool dump_spirv = false;

   /// Whether a driver's own matrices are hidden under ours.
   bool hides_native() const { return lowering == Lowering::registers || profile; }
};

/// What is not understood is ignored and named in problems.
Settings read_settings(const VkInstanceCreateInfo &, std::vector<std::string> &problems);

/// The layer's settings in the text of vk_layer_settings.txt.  The first line of a name counts.
std::map<std::string, std::string, std::less<>> parse_settings_file(std::string_view text);

} // namespace weft::layer
