// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares the manifest of the build, as the loader and vkconfig read it, with the layer's
/// behaviour.

#include "layer/settings.h"
#include "tests/layer/fixture.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace weft::layer_test {

namespace {

using nlohmann::json;

class Manifest : public LayerTest {
protected:
   const json layer = json::parse(std::ifstream(WEFT_LAYER_MANIFEST))["layer"];
   const json &settings = layer["features"]["settings"];

   /// The problems of one setting in the environment.
   static std::vector<std::string> problems_of(const json &setting, const std::string &value)
   {
      const std::string variable = setting["env"];
      const Environment environment(variable.c_str(), value.c_str());
      std::vector<std::string> problems;
      layer::read_settings({}, problems);
      return problems;
   }
};

TEST_F(Manifest, ExtensionsAreThoseThatTheLayerLists)
{
   ASSERT_VK(create_instance());
   const auto enumerate = instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties");
   uint32_t count = 0;
   ASSERT_VK(enumerate(physical, layer::layer_name, &count, nullptr));
   std::vector<VkExtensionProperties> listed(count);
   ASSERT_VK(enumerate(physical, layer::layer_name, &count, listed.data()));
   const json &extensions = layer["device_extensions"];
   ASSERT_EQ(extensions.size(), count);
   std::vector<std::string> commands;
   for (size_t i = 0; i < count; i++) {
      EXPECT_EQ(extensions[i]["name"], listed[i].extensionName);
      EXPECT_EQ(extensions[i]["spec_version"], std::to_string(listed[i].specVersion));
      for (const std::string command : extensions[i]["entrypoints"])
         commands.push_back(command);
   }
   const std::vector<std::string> expected = {
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV",
      "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
      "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"};
   EXPECT_EQ(commands, expected);
   EXPECT_EQ(layer["name"], layer::layer_name);
   EXPECT_EQ(layer["instance_extensions"][0]["name"], VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
}

TEST_F(Manifest, TheLayerReadsEverySettingAndValue)
{
   std::vector<std::string> keys;
   for (const json &setting : settings) {
      keys.push_back(setting["key"]);
      std::string all;
      for (const json &flag : setting["flags"]) {
         EXPECT_TRUE(problems_of(setting, flag["key"]).empty()) << flag;
         EXPECT_FALSE(flag["label"].empty() || flag["description"].empty()) << flag;
         all += (all.empty() ? "" : ",") + std::string(flag["key"]);
      }
      EXPECT_EQ(problems_of(setting, "teapot").size(), 1u) << setting["key"];
      const bool is_list = setting["type"] == "FLAGS";
      EXPECT_EQ(problems_of(setting, all).empty(), is_list) << all;
      EXPECT_EQ(setting["default"], is_list ? json::array() : setting["flags"][0]["key"]);
   }
   EXPECT_EQ(keys, (std::vector<std::string>{"lowering", "profile", "float8", "debug"}));
}

TEST_F(Manifest, ValuesHaveTheirEffects)
{
   const auto read = [](const char *variable, const char *value) {
      const Environment environment(variable, value);
      std::vector<std::string> problems;
      return layer::read_settings({}, problems);
   };
   EXPECT_EQ(read("WEFT_LOWERING", "auto").lowering, layer::Lowering::automatic);
   EXPECT_EQ(read("WEFT_LOWERING", "gain").lowering, layer::Lowering::gain);
   EXPECT_EQ(read("WEFT_LOWERING", "tiles").lowering, layer::Lowering::tiles);
   EXPECT_EQ(read("WEFT_LOWERING", "registers").lowering, layer::Lowering::registers);
   EXPECT_EQ(read("WEFT_PROFILE", "none").profile, nullptr);
   for (const json &flag : settings[1]["flags"]) {
      const std::string name = flag["key"];
      const layer::Settings set = read("WEFT_PROFILE", name.c_str());
      EXPECT_EQ(set.profile, find_profile(name.substr(0, name.find('+'))));
      EXPECT_EQ(set.identity != nullptr, name.ends_with("+identity")) << name;
   }
   const layer::Settings debug = read("WEFT_DEBUG", "log,,spirv");
   EXPECT_TRUE(debug.log && debug.dump_spirv && !debug.dump_nir);
}

TEST_F(Manifest, PresetsSetKnownValues)
{
   for (const json &preset : layer["features"]["presets"]) {
      for (const json &entry : preset["settings"]) {
         const auto setting =
            std::ranges::find_if(settings, [&](const json &s) { return s["key"] == entry["key"]; });
         ASSERT_NE(setting, settings.end()) << entry;
         const json &value = entry["value"];
         EXPECT_TRUE(problems_of(*setting, value.is_array() ? value[0] : value).empty()) << entry;
      }
   }
}

} // namespace

} // namespace weft::layer_test
