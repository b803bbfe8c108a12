// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The one table of the layer's settings and their values. read_settings() accepts these values,
/// and the manifest lists them for vkconfig.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::layer {

struct SettingValue {
   std::string name, label, description;
};

enum class SettingKind {
   choice, ///< one value; the default is the first one
   words,  ///< a list of values; the default is none
};

struct SettingRow {
   std::string_view name; ///< of vk_layer_settings.txt; the environment variable is WEFT_NAME
   std::string_view label, description;
   SettingKind kind;
   std::vector<SettingValue> values;

   /// Null for an unknown value.
   const SettingValue *find(std::string_view value) const;
   /// "a, b, c"
   std::string choices() const;
};

std::vector<SettingRow> setting_rows();
/// Null for an unknown name.
const SettingRow *find_setting(std::span<const SettingRow>, std::string_view name);

/// "WEFT_PROFILE" for "profile".
std::string environment_name(std::string_view setting);

} // namespace weft::layer
