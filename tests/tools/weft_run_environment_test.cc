// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The variables that weft-run sets for old and new loaders.

#include "tests/scratch_folder.h"
#include "tools/weft_run/environment.h"

#include <vulkan/vulkan_core.h>

#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace weft::weft_run {

namespace {

using Variables = std::map<std::string, std::string>;

constexpr uint32_t old_loader = VK_MAKE_API_VERSION(0, 1, 3, 204),
                   new_loader = VK_MAKE_API_VERSION(0, 1, 3, 239);
const Installation installation = {{"/weft/icd.d/weft_icd.json", ""},
                                   {"/weft/explicit_layer.d/layer.json", ""}};

/// The variables that are set afterwards; "unset" stands for an absent variable.
Variables plan(const Choice &choice, uint32_t loader, const Variables &before = {})
{
   Variables after;
   for (const Variable &v : plan_environment(choice, installation, loader, [&](const char *name) {
           const auto found = before.find(name);
           return found == before.end() ? "" : found->second;
        })) {
      EXPECT_FALSE(after.contains(v.name)) << v.name << " is set twice";
      after[v.name] = v.value.value_or("unset");
   }
   return after;
}

const Choice cpu = {.cpu = true}, both = {.cpu = true, .own = true},
             layer = {.own = true, .layer = true};

TEST(WeftRunEnvironment, TheCpuDeviceAlone)
{
   const Variables expected = {{"VK_DRIVER_FILES", "/weft/icd.d/weft_icd.json"},
                               {"VK_ICD_FILENAMES", "/weft/icd.d/weft_icd.json"},
                               {"WEFT_QUEUE", "graphics"}};
   for (const uint32_t loader : {0u, old_loader, new_loader})
      EXPECT_EQ(plan(cpu, loader), expected);
   EXPECT_EQ(plan(cpu, new_loader, {{"VK_DRIVER_FILES", "/other.json"}}), expected);
   // A filter would remove the layer again.
   Variables without_filters = expected;
   without_filters["VK_LOADER_DRIVERS_SELECT"] = "unset";
   EXPECT_EQ(plan(cpu, new_loader, {{"VK_LOADER_DRIVERS_SELECT", "nvidia*"}}), without_filters);
}

TEST(WeftRunEnvironment, TheCpuDeviceBesideOthers)
{
   EXPECT_EQ(plan(both, new_loader),
             (Variables{{"VK_ADD_DRIVER_FILES", "/weft/icd.d/weft_icd.json"},
                        {"WEFT_QUEUE", "graphics"}}));
   EXPECT_EQ(plan(both, 0, {{"VK_ADD_DRIVER_FILES", "/other.json"}}),
             (Variables{{"VK_ADD_DRIVER_FILES", "/weft/icd.d/weft_icd.json:/other.json"},
                        {"WEFT_QUEUE", "graphics"}}));
   // An earlier choice stays, by either name.
   for (const char *name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
      EXPECT_EQ(plan(both, new_loader, {{name, "/other.json"}}),
                (Variables{{"VK_DRIVER_FILES", "/weft/icd.d/weft_icd.json:/other.json"},
                           {"VK_ICD_FILENAMES", "/weft/icd.d/weft_icd.json:/other.json"},
                           {"WEFT_QUEUE", "graphics"}}));
}

TEST(WeftRunEnvironment, OldLoadersAreToldOfWhatTheyWouldHaveFound)
{
   const test::ScratchFolder scratch;
   const std::filesystem::path home = scratch.path / "home", config = scratch.path / "config",
                               data = scratch.path / "data";
   for (const auto &[folder, file] : {std::pair(config / "vulkan/icd.d", "b.json"),
                                      {config / "vulkan/icd.d", "a.json"},
                                      {config / "vulkan/icd.d", "notes.txt"},
                                      {data / "vulkan/explicit_layer.d", "c.json"}}) {
      std::filesystem::create_directories(folder);
      std::ofstream(folder / file) << "{}";
   }
   const Variables before = {{"HOME", home.string()},
                             {"XDG_CONFIG_DIRS", config.string()},
                             {"XDG_DATA_DIRS", data.string()}};
   const std::string list = plan(both, old_loader, before)["VK_ICD_FILENAMES"];
   EXPECT_TRUE(
      list.starts_with("/weft/icd.d/weft_icd.json:" + (config / "vulkan/icd.d/a.json").string() +
                       ":" + (config / "vulkan/icd.d/b.json").string()))
      << list;
   EXPECT_EQ(list.find("notes"), std::string::npos);
   EXPECT_FALSE(plan(both, old_loader, before).contains("VK_ADD_DRIVER_FILES"));

   const Variables layers = plan(layer, old_loader, before);
   EXPECT_TRUE(layers.at("VK_LAYER_PATH").starts_with("/weft/explicit_layer.d:"));
   EXPECT_TRUE(layers.at("VK_LAYER_PATH").ends_with((data / "vulkan/explicit_layer.d").string()));
   EXPECT_FALSE(layers.contains("VK_ADD_LAYER_PATH"));
}

TEST(WeftRunEnvironment, TheLayer)
{
   EXPECT_EQ(plan(layer, new_loader), (Variables{{"VK_ADD_LAYER_PATH", "/weft/explicit_layer.d"},
                                                 {"VK_INSTANCE_LAYERS", layer_name}}));
   // If VK_LAYER_PATH is set, loaders do not read VK_ADD_LAYER_PATH.
   const Variables kept =
      plan(layer, new_loader, {{"VK_LAYER_PATH", "/others"}, {"VK_INSTANCE_LAYERS", "VK_LAYER_X"}});
   EXPECT_EQ(kept, (Variables{{"VK_LAYER_PATH", "/weft/explicit_layer.d:/others"},
                              {"VK_INSTANCE_LAYERS", std::string("VK_LAYER_X:") + layer_name}}));
   EXPECT_EQ(plan(layer, new_loader, {{"VK_INSTANCE_LAYERS", layer_name}}).at("VK_INSTANCE_LAYERS"),
             layer_name);
   // Loaders have a variable that overrides the filter which disables all layers.
   EXPECT_EQ(plan(layer, new_loader, {{"VK_LOADER_LAYERS_DISABLE", "~all~"}})
                .at("VK_LOADER_LAYERS_ENABLE"),
             layer_name);
}

TEST(WeftRunEnvironment, Settings)
{
   Choice choice = cpu;
   choice.profile = "nvidia+identity";
   choice.gpu = choice.log = true;
   const Variables set = plan(choice, new_loader, {{"WEFT_DEBUG", "nir"}});
   EXPECT_EQ(set.at("WEFT_PROFILE"), "nvidia+identity");
   EXPECT_EQ(set.at("WEFT_DEVICE_TYPE"), "integrated-gpu");
   EXPECT_EQ(set.at("WEFT_DEBUG"), "nir,log");
   EXPECT_FALSE(plan(cpu, new_loader, {{"WEFT_QUEUE", "compute"}}).contains("WEFT_QUEUE"));
   EXPECT_FALSE(plan(choice, new_loader, {{"WEFT_DEBUG", "log,nir"}}).contains("WEFT_DEBUG"));
}

TEST(WeftRunEnvironment, CommandsOfAShell)
{
   EXPECT_EQ(as_shell({{"A", "b c"}, {"D", "it's"}, {"E", std::nullopt}}),
             "export A='b c'\nexport D='it'\\''s'\nunset E\n");
}

} // namespace

} // namespace weft::weft_run
