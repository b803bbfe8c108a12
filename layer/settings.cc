// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/settings.h"

#include "layer/struct_chain.h"

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

/// Words of WEFT_DEBUG that are meant for Weft's driver of the CPU.
constexpr std::string_view driver_words[] = {"llvm", "asm", "perf", "registers"};

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

/// What vkd3d and vkd3d-proton call themselves: Direct3D 12 on Vulkan.
bool is_direct3d(const VkInstanceCreateInfo &info)
{
   const VkApplicationInfo *application = info.pApplicationInfo;
   return application && application->pEngineName && strcmp(application->pEngineName, "vkd3d") == 0;
}

std::string environment_name(std::string_view setting)
{
   std::string name = "WEFT_";
   for (char c : setting)
      name += char(std::toupper(static_cast<unsigned char>(c)));
   return name;
}

using Values = std::map<std::string, std::string, std::less<>>;

/// The names that there are.
constexpr std::string_view names[] = {"debug", "float8", "lowering", "profile"};

bool is_name(std::string_view name, std::vector<std::string> &problems)
{
   const bool known = std::ranges::find(names, name) != std::end(names);
   if (!known)
      problems.push_back("there is none named '" + std::string(name) + "'");
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

void parse_debug(std::string_view words, Settings &settings, std::vector<std::string> &problems)
{
   while (!words.empty()) {
      const std::string_view word = words.substr(0, words.find(','));
      words.remove_prefix(std::min(words.size(), word.size() + 1));
      if (word == "log")
         settings.log = true;
      else if (word == "nir")
         settings.dump_nir = true;
      else if (word == "spirv")
         settings.dump_spirv = true;
      else if (!word.empty() && std::ranges::find(driver_words, word) == std::end(driver_words))
         problems.push_back("debug: '" + std::string(word) + "' is none of log, nir, spirv");
   }
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

   Settings settings;
   parse_debug(value_of("debug"), settings, problems);
   const std::string lowering = value_of("lowering");
   if (lowering == "registers")
      settings.lowering = Lowering::registers;
   else if (lowering == "tiles")
      settings.lowering = Lowering::tiles;
   else if (!lowering.empty() && lowering != "auto")
      problems.push_back("lowering: '" + lowering + "' is none of auto, tiles, registers");
   const std::string profile = value_of("profile");
   if (const std::optional<ProfileChoice> choice = parse_profile(profile)) {
      settings.refused = why_no_registers(*choice);
      if (settings.refused.empty()) {
         settings.profile = choice->profile;
         settings.identity = choice->identity;
      } else {
         problems.push_back("profile: " + settings.refused);
      }
   } else if (!profile.empty()) {
      problems.push_back("profile: '" + profile + "' is none of " + profile_choices());
   }
   const std::string float8 = value_of("float8");
   ShowFloat8 show = ShowFloat8::automatic;
   if (float8 == "always")
      show = ShowFloat8::always;
   else if (float8 == "never")
      show = ShowFloat8::never;
   else if (!float8.empty() && float8 != "auto")
      problems.push_back("float8: '" + float8 + "' is none of auto, always, never");
   settings.hides_float8 =
      show == ShowFloat8::never || (show == ShowFloat8::automatic && is_direct3d(info));
   return settings;
}

} // namespace weft::layer
