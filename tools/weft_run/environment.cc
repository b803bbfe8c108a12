// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/environment.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace weft::weft_run {

namespace fs = std::filesystem;

namespace {

/// The first version that documents VK_ADD_DRIVER_FILES, VK_ADD_LAYER_PATH and filters of layers.
constexpr uint32_t first_new_loader = VK_MAKE_API_VERSION(0, 1, 3, 234);

/// Joins two lists.
std::string join(const std::string &first, const std::string &second, char separator = ':')
{
   return first + (first.empty() || second.empty() ? "" : std::string(1, separator)) + second;
}

bool contains(const std::string &list, std::string_view word, char separator)
{
   const std::string all = separator + list + separator;
   return all.find(separator + std::string(word) + separator) != std::string::npos;
}

std::vector<fs::path> split_paths(const std::string &list)
{
   std::vector<fs::path> paths;
   for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(':', at), list.size());
      if (end > at)
         paths.emplace_back(list.substr(at, end - at));
      at = end + 1;
   }
   return paths;
}

/// The folders in which loaders search on Linux, in their order ("Driver Discovery", "Layer
/// Discovery").
std::vector<fs::path> standard_folders(const std::string &kind, const Lookup &lookup)
{
   const auto value_or = [&](const char *name, const std::string &other) {
      const std::string value = lookup(name);
      return value.empty() ? other : value;
   };
   const std::string home = lookup("HOME");
   const auto at_home = [&](const char *folder) { return home.empty() ? "" : home + folder; };
   std::string list = value_or("XDG_CONFIG_HOME", at_home("/.config"));
   list = join(list, value_or("XDG_CONFIG_DIRS", "/etc/xdg"));
   list = join(list, "/usr/local/etc:/etc");
   list = join(list, value_or("XDG_DATA_HOME", at_home("/.local/share")));
   list = join(list, value_or("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
   std::vector<fs::path> folders = split_paths(list);
   for (fs::path &folder : folders)
      folder = folder / "vulkan" / kind;
   std::erase_if(folders, [](const fs::path &folder) {
      std::error_code error;
      return !fs::is_directory(folder, error);
   });
   return folders;
}

std::string installed_drivers(const Lookup &lookup)
{
   std::vector<std::string> files;
   for (const fs::path &folder : standard_folders("icd.d", lookup)) {
      const size_t first = files.size();
      std::error_code error;
      for (fs::directory_iterator it(folder, error), last; !error && it != last;
           it.increment(error)) {
         if (it->path().extension() == ".json")
            files.push_back(it->path().string());
      }
      std::sort(files.begin() + ptrdiff_t(first), files.end());
   }
   std::string list;
   for (const std::string &file : files)
      list = join(list, file);
   return list;
}

std::string layer_folders(const Lookup &lookup)
{
   std::string list;
   for (const fs::path &folder : standard_folders("explicit_layer.d", lookup))
      list = join(list, folder.string());
   return list;
}

void find_driver(const Choice &choice, const std::string &manifest, bool is_new,
                 const Lookup &lookup, std::vector<Variable> &variables)
{
   const auto set_both = [&](const std::string &list) {
      // VK_ICD_FILENAMES is VK_DRIVER_FILES' name in loaders before 1.3.207.
      variables.push_back({"VK_DRIVER_FILES", list});
      variables.push_back({"VK_ICD_FILENAMES", list});
   };
   if (!choice.own) {
      set_both(manifest);
      for (const char *filter : {"VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"}) {
         if (!lookup(filter).empty())
            variables.push_back({filter, std::nullopt});
      }
      return;
   }
   // If one of these is set, loaders ignore VK_ADD_DRIVER_FILES.
   std::string others = lookup("VK_DRIVER_FILES");
   if (others.empty())
      others = lookup("VK_ICD_FILENAMES");
   if (!others.empty())
      set_both(join(manifest, others));
   else if (is_new)
      variables.push_back({"VK_ADD_DRIVER_FILES", join(manifest, lookup("VK_ADD_DRIVER_FILES"))});
   else
      set_both(join(manifest, installed_drivers(lookup)));
}

void find_layer(const std::string &folder, bool is_new, const Lookup &lookup,
                std::vector<Variable> &variables)
{
   // If VK_LAYER_PATH is set, loaders ignore VK_ADD_LAYER_PATH.
   if (const std::string others = lookup("VK_LAYER_PATH"); !others.empty())
      variables.push_back({"VK_LAYER_PATH", join(folder, others)});
   else if (is_new)
      variables.push_back({"VK_ADD_LAYER_PATH", join(folder, lookup("VK_ADD_LAYER_PATH"))});
   else
      variables.push_back({"VK_LAYER_PATH", join(folder, layer_folders(lookup))});

   // Layers that are active already stay between the program and this layer.
   const std::string on = lookup("VK_INSTANCE_LAYERS");
   variables.push_back(
      {"VK_INSTANCE_LAYERS", contains(on, layer_name, ':') ? on : join(on, layer_name)});
   if (!lookup("VK_LOADER_LAYERS_DISABLE").empty())
      variables.push_back(
         {"VK_LOADER_LAYERS_ENABLE", join(lookup("VK_LOADER_LAYERS_ENABLE"), layer_name, ',')});
}

} // namespace

std::vector<Variable> plan_environment(const Choice &choice, const Installation &installation,
                                       uint32_t loader, const Lookup &lookup)
{
   const bool is_new = !loader || loader >= first_new_loader;
   std::vector<Variable> variables;
   if (choice.cpu)
      find_driver(choice, installation.driver.path.string(), is_new, lookup, variables);
   if (choice.layer)
      find_layer(installation.layer.path.parent_path().string(), is_new, lookup, variables);
   if (!choice.profile.empty())
      variables.push_back({"WEFT_PROFILE", choice.profile});
   if (choice.cpu && lookup("WEFT_QUEUE").empty())
      variables.push_back({"WEFT_QUEUE", "graphics"});
   if (choice.gpu)
      variables.push_back({"WEFT_DEVICE_TYPE", "integrated-gpu"});
   const std::string debug = lookup("WEFT_DEBUG");
   if (choice.log && !contains(debug, "log", ','))
      variables.push_back({"WEFT_DEBUG", join(debug, "log", ',')});
   return variables;
}

std::string as_shell(const std::vector<Variable> &variables)
{
   std::string text;
   for (const Variable &v : variables) {
      if (!v.value) {
         text += "unset " + v.name + "\n";
         continue;
      }
      text += "export " + v.name + "='";
      for (const char c : *v.value)
         text += c == '\'' ? "'\\''" : std::string(1, c);
      text += "'\n";
   }
   return text;
}

std::string variable(const char *name)
{
   const char *value = getenv(name);
   return value ? value : "";
}

void apply(const std::vector<Variable> &variables)
{
   for (const Variable &v : variables) {
      if (v.value)
         setenv(v.name.c_str(), v.value->c_str(), 1);
      else
         unsetenv(v.name.c_str());
   }
}

} // namespace weft::weft_run
