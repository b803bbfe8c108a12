// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs in the build: prints a manifest of the layer, from the tables of extensions and settings.
/// usage: write_manifest explicit|implicit LIBRARY

#include "layer/plan/extensions.h"
#include "layer/setting_table.h"
#include "layer/settings.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstring>

namespace weft::layer {

namespace {

using Json = nlohmann::ordered_json;

struct Preset {
   const char *label, *description, *profile;
};
constexpr Preset presets[] = {
   {"As on NVIDIA's GPUs",
    "The shapes, types, subgroup size, numbers and names of NVIDIA's driver.", "nvidia+identity"},
   {"As on AMD's GPUs", "The shapes, types and subgroup size of RADV on RDNA 3.", "amd"},
   {"As on Intel's GPUs", "The shapes, types, subgroup sizes, numbers and names of ANV on Xe2.",
    "intel+identity"},
};

Json extensions()
{
   Json list = Json::array();
   for (const ExtensionRow &row : extension_rows()) {
      Json commands = Json::array();
      if (row.query)
         commands.push_back(row.query);
      list.push_back({{"name", row.name},
                      {"spec_version", std::to_string(row.spec_version)},
                      {"entrypoints", std::move(commands)}});
   }
   return list;
}

Json preset(const char *label, const char *description, Json settings)
{
   return {{"label", label},
           {"description", description},
           {"platforms", {"LINUX"}},
           {"status", "STABLE"},
           {"settings", std::move(settings)}};
}

Json list_presets()
{
   Json registers = Json::array(
      {{{"key", "lowering"}, {"value", "registers"}}, {{"key", "debug"}, {"value", {"log"}}}});
   Json list = Json::array({preset("Everything in registers",
                                   "Hide the driver's matrices: every shader runs without them, as "
                                   "on drivers without matrices.",
                                   std::move(registers))});
   for (const Preset &p : presets)
      list.push_back(
         preset(p.label, p.description, Json::array({{{"key", "profile"}, {"value", p.profile}}})));
   return list;
}

Json settings()
{
   Json list = Json::array();
   for (const SettingRow &row : setting_rows()) {
      const bool one = row.kind == SettingKind::choice;
      Json values = Json::array();
      for (const SettingValue &value : row.values)
         values.push_back(
            {{"key", value.name}, {"label", value.label}, {"description", value.description}});
      list.push_back({{"key", row.name},
                      {"env", environment_name(row.name)},
                      {"label", row.label},
                      {"description", row.description},
                      {"type", one ? "ENUM" : "FLAGS"},
                      {"flags", std::move(values)},
                      {"default", one ? Json(row.values.front().name) : Json::array()}});
   }
   return list;
}

Json manifest(bool implicit, const char *library)
{
   Json layer = {
      {"name", layer_name},
      {"type", "GLOBAL"},
      {"library_path", library},
      {"library_arch", "64"},
      {"api_version", "1.4.305"},
      {"implementation_version", "1"},
      {"description", "Weft: cooperative matrices on drivers without them"},
      {"introduction",
       "Advertises cooperative matrices (VK_KHR_cooperative_matrix and its successors) and lowers "
       "compute shaders that use them to the features of the driver."},
      {"platforms", {"LINUX"}},
      {"status", "STABLE"},
   };
   if (implicit) {
      layer["enable_environment"] = {{"ENABLE_VK_LAYER_WEFT_cooperative_matrix_1", "1"}};
      layer["disable_environment"] = {{"DISABLE_VK_LAYER_WEFT_cooperative_matrix_1", "1"}};
   } else {
      // Loaders list an implicit layer's instance extensions for every application, and some then
      // refuse an extension that they do not know. So the manifest of an implicit layer has no
      // instance extensions.
      layer["instance_extensions"] =
         Json::array({{{"name", "VK_EXT_layer_settings"}, {"spec_version", "2"}}});
   }
   layer["device_extensions"] = extensions();
   layer["features"] = {{"presets", list_presets()}, {"settings", settings()}};
   return {{"file_format_version", "1.2.1"}, {"layer", std::move(layer)}};
}

} // namespace

} // namespace weft::layer

int main(int argc, char **argv)
{
   if (argc != 3)
      return 2;
   const bool implicit = strcmp(argv[1], "implicit") == 0;
   const std::string text = weft::layer::manifest(implicit, argv[2]).dump(4) + "\n";
   return fputs(text.c_str(), stdout) < 0 || fflush(stdout) ? 1 : 0;
}
