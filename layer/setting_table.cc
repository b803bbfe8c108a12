// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/setting_table.h"

#include "vulkan_util/profile.h"

#include <algorithm>
#include <cctype>

namespace weft::layer {

namespace {

std::vector<SettingValue> profile_values()
{
   std::vector<SettingValue> values = {{"none", "None", "Everything that can be lowered."}};
   for (const Profile &profile : profiles()) {
      const std::string name(profile.name), label(profile.label);
      values.push_back({name, label, std::string(profile.hardware)});
      if (const ProfileChoice choice = {&profile, profile.identity};
          choice.identity && why_no_registers(choice).empty())
         values.push_back({name + "+identity", label + ", by name",
                           "The same, and the vendor's, device's and driver's numbers and names."});
   }
   return values;
}

} // namespace

const SettingValue *SettingRow::find(std::string_view value) const
{
   const auto found = std::ranges::find(values, value, &SettingValue::name);
   return found == values.end() ? nullptr : &*found;
}

std::string SettingRow::choices() const
{
   std::string list;
   for (const SettingValue &value : values)
      list += (list.empty() ? "" : ", ") + value.name;
   return list;
}

std::vector<SettingRow> setting_rows()
{
   return {
      {"lowering",
       "Lowering",
       "auto: shaders that the driver can run itself stay as they are; gain: the same, but drivers "
       "for CPUs get no matrices; tiles: all shaders are lowered, to the driver's own matrices "
       "where "
       "these can be built from them; registers: always to registers.",
       SettingKind::choice,
       {{"auto", "Automatic", "Add to the driver's matrices."},
        {"gain", "Gain", "Add to the driver's matrices, except on CPUs."},
        {"tiles", "Tiles", "Lower every shader, to the driver's matrices."},
        {"registers", "Registers", "Hide the driver's matrices."}}},
      {"profile", "Vendor profile",
       "Advertise the shapes, types and subgroup size of a vendor's hardware, as far as the driver "
       "can carry them.",
       SettingKind::choice, profile_values()},
      {"float8",
       "8-bit floats",
       "The programs that see VK_EXT_shader_float8 if the driver lacks it.",
       SettingKind::choice,
       {{"auto", "Not games for Windows", "All programs but those of Direct3D 12 (vkd3d)."},
        {"always", "All", "All programs."},
        {"never", "None", "No program."}}},
      {"debug",
       "Debug output",
       "Texts to write to stderr.",
       SettingKind::words,
       {{"log", "Refusals", "Why a device, a shader or a call was refused."},
        {"nir", "NIR", "Every lowered shader as NIR."},
        {"spirv", "SPIR-V", "Every lowered shader as the driver gets it."}}},
   };
}

const SettingRow *find_setting(std::span<const SettingRow> rows, std::string_view name)
{
   const auto found = std::ranges::find(rows, name, &SettingRow::name);
   return found == rows.end() ? nullptr : &*found;
}

std::string environment_name(std::string_view setting)
{
   std::string name = "WEFT_";
   for (char c : setting)
      name += char(std::toupper(static_cast<unsigned char>(c)));
   return name;
}

} // namespace weft::layer
