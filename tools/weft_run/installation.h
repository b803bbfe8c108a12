// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Where driver and layer are: found from weft-run's own place, so that all of it can be moved.
///
///     installed or unpacked                                     in a build folder
///     bin/weft-run                                              tools/weft_run/weft-run
///     share/vulkan/icd.d/weft_icd.*.json                        icd/weft_icd.*.json
///     share/vulkan/explicit_layer.d/VkLayer_weft_….json         layer/explicit_layer.d/VkLayer_weft_….json

#pragma once

#include <filesystem>
#include <string>

namespace weft::weft_run {

inline constexpr char layer_name[] = "VK_LAYER_WEFT_cooperative_matrix";

/// A manifest, or why there is none to use.
struct Manifest {
   std::filesystem::path path;
   std::string problem; ///< empty: it can be used
};

struct Installation {
   Manifest driver, layer;
};

/// The folder that the running program lies in.
std::filesystem::path own_folder();

Installation find_installation(const std::filesystem::path &folder);

} // namespace weft::weft_run
