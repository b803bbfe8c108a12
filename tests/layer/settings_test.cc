// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Settings from every source.

#include "layer/settings.h"
#include "tests/layer/fixture.h"
#include "tests/scratch_folder.h"

#include <cstring>
#include <fstream>

namespace weft::layer_test {
namespace {

TEST(SettingsFile, Lines)
{
   const char *text = "# a comment\n"
                      "other_layer.lowering = nothing\n"
                      "  weft_cooperative_matrix.lowering =  registers  # why\r\n"
                      "weft_cooperative_matrix.debug=log,nir\n"
                      "weft_cooperative_matrix.debug=spirv\n"
                      "weft_cooperative_matrix.profile\n"
                      "weft_cooperative_matrix.last = amd";
   EXPECT_EQ(layer::parse_settings_file(text),
             (std::map<std::string, std::string, std::less<>>{
                {"lowering", "registers"}, {"debug", "log,nir"}, {"last", "amd"}}));
   EXPECT_TRUE(layer::parse_settings_file("").empty());
}

/// VkLayerSettingsCreateInfoEXT with one string.
struct ApiSetting {
   ApiSetting(const char *name, const char *text, const char *layer = layer::layer_name)
       : value(text), setting{layer, name, VK_LAYER_SETTING_TYPE_STRING_EXT, 1, &value},
         settings{VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, nullptr, 1, &setting},
         info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pNext = &settings}
   {
   }
   const char *value;
   VkLayerSettingEXT setting;
   VkLayerSettingsCreateInfoEXT settings;
   VkInstanceCreateInfo info;
};

class SettingsTest : public LayerTest {};

TEST_F(SettingsTest, SourcesInOrder)
{
   std::vector<std::string> problems;
   const ApiSetting api("profile", "amd");
   EXPECT_EQ(layer::read_settings(api.info, problems).profile->name, "amd");
   EXPECT_EQ(
      layer::read_settings(ApiSetting("profile", "amd", "VK_LAYER_other").info, problems).profile,
      nullptr);
   const test::ScratchFolder scratch;
   const std::string path = scratch.path / "vk_layer_settings.txt";
   std::ofstream(path) << "weft_cooperative_matrix.profile = intel\n";
   {
      const Environment file("VK_LAYER_SETTINGS_PATH", path.c_str());
      EXPECT_EQ(layer::read_settings(api.info, problems).profile->name, "intel");
      const Environment variable("WEFT_PROFILE", "nvidia");
      EXPECT_EQ(layer::read_settings(api.info, problems).profile->name, "nvidia");
   }
   {
      const Environment folder("VK_LAYER_SETTINGS_PATH", scratch.path.c_str());
      EXPECT_EQ(layer::read_settings(api.info, problems).profile->name, "intel");
   }
   EXPECT_TRUE(problems.empty());
}

/// As in Khronos' layers: vkconfig's file, then VK_LAYER_SETTINGS_PATH, then the working directory.
TEST_F(SettingsTest, FilesInOrder)
{
   std::vector<std::string> problems;
   const auto profile = [&] {
      const layer::Settings settings = layer::read_settings({}, problems);
      return settings.profile ? settings.profile->name : "none";
   };
   const auto write = [](const std::filesystem::path &folder, const char *name) {
      std::filesystem::create_directories(folder);
      std::ofstream(folder / "vk_layer_settings.txt")
         << "weft_cooperative_matrix.profile = " << name << '\n';
   };
   const test::ScratchFolder scratch;
   const std::filesystem::path working = scratch.path / "working", home = scratch.path / "home",
                               data = scratch.path / "data", own = scratch.path / "own";
   const std::filesystem::path before = std::filesystem::current_path();
   write(working, "amd");
   std::filesystem::current_path(working);
   EXPECT_EQ(profile(), "amd"); // the path of the fixture does not exist
   write(own, "intel");
   const Environment path("VK_LAYER_SETTINGS_PATH", own.c_str());
   EXPECT_EQ(profile(), "intel");
   {
      unsetenv("XDG_DATA_HOME");
      const Environment folder("HOME", home.c_str());
      EXPECT_EQ(profile(), "intel");
      write(home / ".local/share/vulkan/settings.d", "nvidia");
      EXPECT_EQ(profile(), "nvidia");
      const Environment xdg("XDG_DATA_HOME", data.c_str());
      EXPECT_EQ(profile(), "intel"); // HOME is not read
      write(data / "vulkan/settings.d", "apple");
      EXPECT_EQ(profile(), "apple");
   }
   std::filesystem::current_path(before);
   EXPECT_TRUE(problems.empty());
}

TEST_F(SettingsTest, UnknownValuesAreNamedAndIgnored)
{
   const Environment debug("WEFT_DEBUG", "nir,llvm,what"); // llvm is for Weft's driver
   const Environment lowering("WEFT_LOWERING", "magic");
   const Environment profile("WEFT_PROFILE", "acme");
   std::vector<std::string> problems;
   const layer::Settings settings = layer::read_settings({}, problems);
   EXPECT_TRUE(settings.dump_nir);
   EXPECT_FALSE(settings.log || settings.dump_spirv || settings.hides_native());
   ASSERT_EQ(problems.size(), 3u);
   EXPECT_NE(problems[0].find("'what'"), std::string::npos);

   // Messages about settings reach the messengers in vkCreateInstance's chain.
   std::string heard;
   const VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
      .pfnUserCallback =
         [](VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
            const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
            *static_cast<std::string *>(user) += data->pMessage;
            return VkBool32(VK_FALSE);
         },
      .pUserData = &heard,
   };
   testing::internal::CaptureStderr();
   ASSERT_VK(create_instance(VK_API_VERSION_1_3, &messenger));
   EXPECT_NE(testing::internal::GetCapturedStderr().find("acme"), std::string::npos);
   EXPECT_NE(heard.find("acme"), std::string::npos);
}

TEST_F(SettingsTest, UnknownNamesAndTypesAreNamedAndIgnored)
{
   std::vector<std::string> problems;
   {
      const test::ScratchFolder scratch;
      const std::string path = scratch.path / "vk_layer_settings.txt";
      std::ofstream(path) << "weft_cooperative_matrix.profil = intel\nother.profil = intel\n";
      const Environment file("VK_LAYER_SETTINGS_PATH", path.c_str());
      EXPECT_EQ(layer::read_settings({}, problems).profile, nullptr);
   }
   ASSERT_EQ(problems.size(), 1u);
   EXPECT_NE(problems[0].find("'profil'"), std::string::npos);

   problems.clear();
   ApiSetting named("Lowering", "registers"), typed("lowering", "registers");
   typed.setting.type = VK_LAYER_SETTING_TYPE_BOOL32_EXT;
   typed.settings.pNext = &named.settings;
   EXPECT_FALSE(layer::read_settings(typed.info, problems).hides_native());
   ASSERT_EQ(problems.size(), 2u);
   EXPECT_NE(problems[0].find("not a string"), std::string::npos);
   EXPECT_NE(problems[1].find("'Lowering'"), std::string::npos);
}

TEST_F(SettingsTest, LogAndDumpsOnStderr)
{
   const Environment debug("WEFT_DEBUG", "log,spirv");
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const VkShaderModule module = make_module(matrix_module());
   const VkComputePipelineCreateInfo infos[] = {pipeline_info(module),
                                                pipeline_info(module, "fail")};
   VkPipeline pipelines[2];
   testing::internal::CaptureStderr();
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_UNKNOWN);
   const std::string output = testing::internal::GetCapturedStderr();
   EXPECT_NE(output.find("the SPIR-V text"), std::string::npos);
   EXPECT_EQ(output.find("the NIR"), std::string::npos);
   EXPECT_NE(output.find("made to fail"), std::string::npos);
   destroy_pipelines(pipelines);
   destroy_module(module);
}

} // namespace
} // namespace weft::layer_test
