// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Finds driver and layer relative to weft-run itself, so that an installation can be moved.
///
///    installed or unpacked               in a build folder
///    bin/weft-run                        tools/weft_run/weft-run
///    share/vulkan/icd.d/weft_icd.*.json  icd/weft_icd.*.json
///    share/vulkan/explicit_layer.d/      layer/explicit_layer.d/
///       VkLayer_weft_….json                 VkLayer_weft_….json

#pragma once

#include <filesystem>
#include <string>

namespace weft::weft_run {

inline constexpr char layer_name[] = "VK_LAYER_WEFT_cooperative_matrix";

/// A manifest, or the reason why none is usable.
struct Manifest {
   std::filesystem::path path;
   std::string problem; ///< empty: usable
};

struct Installation {
   Manifest driver, layer;
};

/// The folder of the running program.
std::filesystem::path own_folder();

Installation find_installation(const std::filesystem::path &folder);

} // namespace weft::weft_run
