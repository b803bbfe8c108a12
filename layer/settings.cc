// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/settings.h"

#include "layer/setting_table.h"
#include "layer/struct_chain.h"
#include "nir_passes/setting_words.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/auxv.h>
#include <sys/stat.h>

namespace weft::layer {

namespace {

constexpr std::string_view file_prefix = "weft_cooperative_matrix.";

/// Words of WEFT_DEBUG that only Weft's driver knows.
constexpr std::string_view driver_words[] = {"llvm", "asm", "perf", "registers", "times"};

std::string_view trim(std::string_view text)
{
   const size_t first = text.find_first_not_of(" \t\r");
   if (first == std::string_view::npos)
      return {};
   return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_file(const std::string &path)
{
   struct stat info;
   return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// The first vk_layer_settings.txt in the order of Khronos' layers (Vulkan-Utility-Libraries):
/// where vkconfig writes it, then VK_LAYER_SETTINGS_PATH (the file or its folder), then the working
/// directory.
std::string read_settings_file()
{
   std::vector<std::string> paths;
   const std::string below = "/vulkan/settings.d/vk_layer_settings.txt";
   if (const char *data = secure_getenv("XDG_DATA_HOME"); data && *data)
      paths.push_back(data + below);
   else if (const char *home = secure_getenv("HOME"); home && *home)
      paths.push_back(std::string(home) + "/.local/share" + below);
   if (const char *path = secure_getenv("VK_LAYER_SETTINGS_PATH"); path && *path) {
      paths.push_back(std::string(path) + "/vk_layer_settings.txt");
      paths.emplace_back(path);
   }
   if (!getauxval(AT_SECURE))
      paths.emplace_back("vk_layer_settings.txt");
   const auto found = std::ranges::find_if(paths, is_file);
   if (found == paths.end())
      return {};
   std::ifstream file(*found);
   return {std::istreambuf_iterator<char>(file), {}};
}

/// The engine name of vkd3d and vkd3d-proton: Direct3D 12 on Vulkan.
bool is_direct3d(const VkInstanceCreateInfo &info)
{
   const VkApplicationInfo *application = info.pApplicationInfo;
   return application && application->pEngineName && strcmp(application->pEngineName, "vkd3d") == 0;
}

using Values = std::map<std::string, std::string, std::less<>>;

bool is_name(std::string_view name, std::vector<std::string> &problems)
{
   const bool known = find_setting(setting_rows(), name) != nullptr;
   if (!known)
      problems.push_back("no setting is named '" + std::string(name) + "'");
   return known;
}

/// Several strings of one setting are joined by commas.
Values read_chain(const VkInstanceCreateInfo &info, std::vector<std::string> &problems)
{
   Values values;
   const void *next = info.pNext;
   while (auto *settings = static_cast<const VkLayerSettingsCreateInfoEXT *>(
             find_struct(next, VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT))) {
      next = settings->pNext;
      for (uint32_t i = 0; i < settings->settingCount; i++) {
         const VkLayerSettingEXT &s = settings->pSettings[i];
         if (s.pLayerName != std::string_view(layer_name) || !is_name(s.pSettingName, problems))
            continue;
         if (s.type != VK_LAYER_SETTING_TYPE_STRING_EXT) {
            problems.push_back(std::string(s.pSettingName) + ": it is not a string");
            continue;
         }
         std::string &value = values[s.pSettingName];
         for (uint32_t k = 0; k < s.valueCount; k++) {
            value += value.empty() ? "" : ",";
            value += static_cast<const char *const *>(s.pValues)[k];
         }
      }
   }
   return values;
}

std::string no_value(const SettingRow &row, std::string_view value)
{
   return std::string(row.name) + ": '" + std::string(value) + "' is not one of " + row.choices();
}

/// The index of a value among the setting's values: the default's, 0, if there is none or an
/// unknown one.
size_t parse_choice(const SettingRow &row, const std::string &value,
                    std::vector<std::string> &problems)
{
   const SettingValue *found = row.find(value);
   if (!found && !value.empty())
      problems.push_back(no_value(row, value));
   return found ? size_t(found - row.values.data()) : 0;
}

void parse_debug(const SettingRow &row, std::string_view words, Settings &settings,
                 std::vector<std::string> &problems)
{
   for_each_word(words, [&](std::string_view word) {
      settings.log |= word == "log";
      settings.dump_nir |= word == "nir";
      settings.dump_spirv |= word == "spirv";
      if (!row.find(word) && std::ranges::find(driver_words, word) == std::end(driver_words))
         problems.push_back(no_value(row, word));
   });
}

} // namespace

std::map<std::string, std::string, std::less<>> parse_settings_file(std::string_view text)
{
   Values values;
   while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      line = trim(line.substr(0, line.find('#')));
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos || !line.starts_with(file_prefix))
         continue;
      const std::string_view name =
         trim(line.substr(file_prefix.size(), equals - file_prefix.size()));
      values.emplace(name, trim(line.substr(equals + 1)));
   }
   return values;
}

Settings read_settings(const VkInstanceCreateInfo &info, std::vector<std::string> &problems)
{
   const Values file = parse_settings_file(read_settings_file());
   for (const auto &[name, value] : file)
      is_name(name, problems);
   const Values chain = read_chain(info, problems);
   const auto value_of = [&](std::string_view name) -> std::string {
      if (const char *value = secure_getenv(environment_name(name).c_str()); value && *value)
         return value;
      for (const Values *values : {&file, &chain}) {
         if (auto it = values->find(name); it != values->end() && !it->second.empty())
            return it->second;
      }
      return {};
   };

   const std::vector<SettingRow> rows = setting_rows();
   const auto choice_of = [&](std::string_view name) {
      return parse_choice(*find_setting(rows, name), value_of(name), problems);
   };
   Settings settings;
   parse_debug(*find_setting(rows, "debug"), value_of("debug"), settings, problems);
   settings.lowering = Lowering(choice_of("lowering"));
   const std::string profile_text = value_of("profile");
   const ProfileSetting profile = read_profile(profile_text, true);
   settings.profile = profile.choice.profile;
   settings.identity = profile.choice.identity;
   if (profile.refused)
      settings.refused = profile.problem;
   if (!profile.problem.empty())
      problems.push_back("profile: '" + profile_text + "': " + profile.problem);
   const ShowFloat8 show = ShowFloat8(choice_of("float8"));
   settings.hides_float8 =
      show == ShowFloat8::never || (show == ShowFloat8::automatic && is_direct3d(info));
   return settings;
}

} // namespace weft::layer
