// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer between the real loader and Weft's driver: devices that it refuses, and its settings
/// from every source. If a call hangs, the process ends.

#include "tests/e2e/glsl.h"
#include "tests/scratch_folder.h"

#include <vulkan/vulkan.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace weft::e2e {
namespace {

namespace fs = std::filesystem;

constexpr char layer_name[] = "VK_LAYER_WEFT_cooperative_matrix";
constexpr unsigned seconds_of_a_call = 60;

/// Ends the process if it lives too long, because the loader could hang in its own lock.
class Watchdog {
public:
   explicit Watchdog(const char *what)
   {
      call = what;
      signal(SIGALRM, [](int) {
         const auto say = [](const char *text) { (void)!write(2, text, strlen(text)); };
         say(call);
         say(" has not returned\n");
         _exit(1);
      });
      alarm(seconds_of_a_call);
   }
   ~Watchdog() { alarm(0); }
   Watchdog(const Watchdog &) = delete;
   Watchdog &operator=(const Watchdog &) = delete;

private:
   static inline const char *call;
};

/// Sets an environment variable for as long as it lives.
class Environment {
public:
   Environment(const char *name, const std::string &value) : name(name)
   {
      if (const char *old = getenv(name)) {
         before = old;
         was_set = true;
      }
      setenv(name, value.c_str(), 1);
   }
   ~Environment()
   {
      if (was_set)
         setenv(name, before.c_str(), 1);
      else
         unsetenv(name);
   }
   Environment(const Environment &) = delete;
   Environment &operator=(const Environment &) = delete;

private:
   const char *name;
   std::string before;
   bool was_set = false;
};

struct Message {
   VkDebugUtilsMessageSeverityFlagBitsEXT severity;
   std::string text;
};

VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                         VkDebugUtilsMessageTypeFlagsEXT,
                         const VkDebugUtilsMessengerCallbackDataEXT *data, void *heard)
{
   static_cast<std::vector<Message> *>(heard)->push_back(
      {severity, data->pMessage ? data->pMessage : ""});
   return VK_FALSE;
}

/// The messengers of an application.
enum class Listening { none, messenger, messenger_and_chain };

/// An instance with its first physical device.
class Session {
public:
   Session(uint32_t version, Listening listening, const void *next = nullptr)
   {
      const Watchdog watchdog("vkCreateInstance");
      const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                             .apiVersion = version};
      VkDebugUtilsMessengerCreateInfoEXT messenger_info = {
         .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
         .pNext = next,
         .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT |
                            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
         .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
         .pfnUserCallback = hear,
         .pUserData = &heard,
      };
      const char *const names[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
      const VkInstanceCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
         .pNext = listening == Listening::messenger_and_chain ? &messenger_info : next,
         .pApplicationInfo = &application,
         .enabledExtensionCount = listening == Listening::none ? 0u : 1u,
         .ppEnabledExtensionNames = names,
      };
      EXPECT_EQ(vkCreateInstance(&info, nullptr, &instance), VK_SUCCESS);
      if (listening != Listening::none) {
         messenger_info.pNext = nullptr;
         EXPECT_EQ(function<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT")(
                      instance, &messenger_info, nullptr, &messenger),
                   VK_SUCCESS);
      }
      uint32_t count = 1;
      vkEnumeratePhysicalDevices(instance, &count, &physical);
      EXPECT_EQ(count, 1u);
   }

   ~Session()
   {
      const Watchdog watchdog("vkDestroyInstance");
      if (device)
         vkDestroyDevice(device, nullptr);
      if (messenger)
         function<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(
            instance, messenger, nullptr);
      vkDestroyInstance(instance, nullptr);
   }

   Session(const Session &) = delete;
   Session &operator=(const Session &) = delete;

   VkResult create_device(const std::vector<const char *> &names, const void *next)
   {
      const Watchdog watchdog("vkCreateDevice");
      const float priority = 1;
      const VkDeviceQueueCreateInfo queue = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueCount = 1,
         .pQueuePriorities = &priority,
      };
      const VkDeviceCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
         .pNext = next,
         .queueCreateInfoCount = 1,
         .pQueueCreateInfos = &queue,
         .enabledExtensionCount = uint32_t(names.size()),
         .ppEnabledExtensionNames = names.data(),
      };
      return vkCreateDevice(physical, &info, nullptr, &device);
   }

   template <typename F>
   F function(const char *name)
   {
      return reinterpret_cast<F>(vkGetInstanceProcAddr(instance, name));
   }

   size_t count_heard(const std::string &part) const
   {
      return size_t(std::ranges::count_if(
         heard, [&](const Message &m) { return m.text.find(part) != std::string::npos; }));
   }

   VkInstance instance = VK_NULL_HANDLE;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   VkDevice device = VK_NULL_HANDLE;
   VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
   std::vector<Message> heard;
};

/* ---- devices that are refused ---- */

struct Request {
   const char *name;
   uint32_t version;
   const char *profile;
   std::vector<const char *> extensions;
   std::vector<VkStructureType> chain; ///< all of their features are on
   VkResult result;
   const char *message;
};

void PrintTo(const Request &request, std::ostream *out)
{
   *out << request.name;
}

constexpr auto unknown_struct = VkStructureType(1999999000);
constexpr auto khr = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;

const Request requests[] = {
   {"instance_of_vulkan_1_0",
    VK_API_VERSION_1_0,
    "none",
    {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME},
    {khr},
    VK_ERROR_EXTENSION_NOT_PRESENT,
    "vkCreateDevice: no VK_KHR_cooperative_matrix on "},
   {"absent_extension",
    VK_API_VERSION_1_0,
    "none",
    {VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME},
    {},
    VK_ERROR_EXTENSION_NOT_PRESENT,
    "vkCreateDevice: no VK_NV_cooperative_matrix2 on "},
   {"absent_feature",
    VK_API_VERSION_1_3,
    "amd",
    {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR},
    VK_ERROR_FEATURE_NOT_PRESENT,
    "vkCreateDevice: no VK_KHR_shader_bfloat16 on "},
   {"unknown_struct_in_front",
    VK_API_VERSION_1_3,
    "amd",
    {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME},
    {unknown_struct, khr},
    VK_ERROR_FEATURE_NOT_PRESENT,
    "stands before it (sType 1999999000)"},
   // Ignored: programs enable all features that they have found.
   {"features_without_extension",
    VK_API_VERSION_1_3,
    "amd",
    {},
    {khr},
    VK_SUCCESS,
    "vkCreateDevice: features of VK_KHR_cooperative_matrix are ignored"},
};

/// A struct of the features of one of these extensions.
struct Features {
   VkStructureType sType;
   void *pNext;
   VkBool32 features[4];
};

void expect_answer(const Request &request, Listening listening)
{
   const Environment profile("WEFT_PROFILE", request.profile);
   Session session(request.version, listening);
   std::vector<Features> chain(request.chain.size());
   for (size_t i = chain.size(); i-- > 0;)
      chain[i] = {request.chain[i],
                  i + 1 < chain.size() ? &chain[i + 1] : nullptr,
                  {VK_TRUE, VK_TRUE, VK_TRUE, VK_TRUE}};
   for (size_t times = 1; times <= 2; times++) {
      EXPECT_EQ(session.create_device(request.extensions, chain.empty() ? nullptr : chain.data()),
                request.result);
      EXPECT_EQ(session.count_heard(request.message), listening == Listening::none ? 0 : times);
      if (session.device)
         vkDestroyDevice(std::exchange(session.device, VkDevice(VK_NULL_HANDLE)), nullptr);
   }
}

class RefusedDevice : public testing::TestWithParam<Request> {};

TEST_P(RefusedDevice, HasAReason)
{
   for (const Listening listening :
        {Listening::none, Listening::messenger, Listening::messenger_and_chain})
      expect_answer(GetParam(), listening);
}

/// With a second layer of the same code below, only one answers, and its message comes once.
TEST_P(RefusedDevice, HasAReasonAboveATwin)
{
   const fs::path folder = getenv("VK_LAYER_PATH");
   std::ifstream file(folder / "VkLayer_weft_cooperative_matrix.json");
   std::string manifest(std::istreambuf_iterator<char>(file), {});
   const auto replace = [&](const std::string &from, const std::string &to) {
      ASSERT_NE(manifest.find(from), std::string::npos) << from;
      manifest.replace(manifest.find(from), from.size(), to);
   };
   const std::string key = "\"library_path\": \"";
   const size_t begin = manifest.find(key) + key.size();
   const std::string library = manifest.substr(begin, manifest.find('"', begin) - begin);
   const test::ScratchFolder scratch;
   const fs::path copy = scratch.path / "libtwin.so";
   fs::copy_file(library, copy);
   replace(library, copy);
   replace(layer_name, "VK_LAYER_WEFT_twin");
   std::ofstream(scratch.path / "twin.json") << manifest;

   const Environment path("VK_LAYER_PATH", folder.string() + ":" + scratch.path.string());
   const Environment layers("VK_INSTANCE_LAYERS", std::string(layer_name) + ":VK_LAYER_WEFT_twin");
   expect_answer(GetParam(), Listening::messenger_and_chain);
}

INSTANTIATE_TEST_SUITE_P(Each, RefusedDevice, testing::ValuesIn(requests),
                         [](const auto &info) { return info.param.name; });

/// The loader passes an application's own message to every messenger, and the layer must not repeat
/// it.
TEST(Messages, OfTheApplicationComeOnce)
{
   Session session(VK_API_VERSION_1_3, Listening::messenger);
   const VkDebugUtilsMessengerCallbackDataEXT data = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessage = "the application speaks",
   };
   session.function<PFN_vkSubmitDebugUtilsMessageEXT>("vkSubmitDebugUtilsMessageEXT")(
      session.instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
      VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, &data);
   EXPECT_EQ(session.count_heard("the application speaks"), 1u);
}

/* ---- settings ---- */

/// A setting: NAME = value.
struct Setting {
   const char *name, *value;
};

/// Runs a function while the layer's settings come from one place.
using Source = void (*)(const std::vector<Setting> &, const std::function<void(const void *)> &);

void from_environment(const std::vector<Setting> &settings,
                      const std::function<void(const void *)> &run)
{
   std::vector<std::string> names;
   for (const Setting &setting : settings) {
      std::string &name = names.emplace_back("WEFT_");
      for (const char *c = setting.name; *c; c++)
         name += char(toupper(*c));
      setenv(name.c_str(), setting.value, 1);
   }
   run(nullptr);
   for (const std::string &name : names)
      unsetenv(name.c_str());
}

void write_file(const fs::path &path, const std::vector<Setting> &settings)
{
   fs::create_directories(path.parent_path());
   std::ofstream file(path);
   for (const Setting &setting : settings)
      file << "weft_cooperative_matrix." << setting.name << " = " << setting.value << '\n';
}

void from_file(const std::vector<Setting> &settings, const std::function<void(const void *)> &run)
{
   const test::ScratchFolder scratch;
   const fs::path path = scratch.path / "vk_layer_settings.txt";
   write_file(path, settings);
   const Environment variable("VK_LAYER_SETTINGS_PATH", path);
   run(nullptr);
}

void from_vkconfig(const std::vector<Setting> &settings,
                   const std::function<void(const void *)> &run)
{
   const test::ScratchFolder scratch;
   write_file(scratch.path / "vulkan/settings.d/vk_layer_settings.txt", settings);
   const Environment variable("XDG_DATA_HOME", scratch.path);
   run(nullptr);
}

void from_application(const std::vector<Setting> &settings,
                      const std::function<void(const void *)> &run)
{
   std::vector<VkLayerSettingEXT> list;
   for (const Setting &setting : settings)
      list.push_back(
         {layer_name, setting.name, VK_LAYER_SETTING_TYPE_STRING_EXT, 1, &setting.value});
   const VkLayerSettingsCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT,
      .settingCount = uint32_t(list.size()),
      .pSettings = list.data(),
   };
   run(&info);
}

struct NamedSource {
   const char *name;
   Source with;
};

class Settings : public testing::TestWithParam<NamedSource> {
protected:
   /// The output on stderr during the creation of a pipeline with a matrix product.
   static std::string make_pipeline(const void *next)
   {
      Session session(VK_API_VERSION_1_3, Listening::none, next);
      VkPhysicalDeviceVulkan12Features features12 = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
         .shaderFloat16 = VK_TRUE,
         .vulkanMemoryModel = VK_TRUE,
         .vulkanMemoryModelDeviceScope = VK_TRUE,
      };
      VkPhysicalDeviceVulkan11Features features11 = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
         .pNext = &features12,
         .storageBuffer16BitAccess = VK_TRUE,
      };
      const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
         .sType = khr, .pNext = &features11, .cooperativeMatrix = VK_TRUE};
      EXPECT_EQ(session.create_device({VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME}, &matrices),
                VK_SUCCESS);
      if (!session.device)
         return {};
      VkDevice device = session.device;

      const VkDescriptorSetLayoutBinding binding = {
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      };
      const VkDescriptorSetLayoutCreateInfo set_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
         .bindingCount = 1,
         .pBindings = &binding,
      };
      VkDescriptorSetLayout set;
      EXPECT_EQ(vkCreateDescriptorSetLayout(device, &set_info, nullptr, &set), VK_SUCCESS);
      const VkPipelineLayoutCreateInfo layout_info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
         .setLayoutCount = 1,
         .pSetLayouts = &set,
      };
      VkPipelineLayout layout;
      EXPECT_EQ(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), VK_SUCCESS);
      const std::vector<uint32_t> words = compile_glsl(glsl_header + std::string(R"(
         layout(local_size_x = 32) in;
         layout(set = 0, binding = 0, std430) buffer A { float16_t a[]; };
         void main()
         {
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
            coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatStore(x, a, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
         })"));
      const VkShaderModuleCreateInfo module_info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
         .codeSize = words.size() * sizeof(uint32_t),
         .pCode = words.data(),
      };
      VkShaderModule module;
      EXPECT_EQ(vkCreateShaderModule(device, &module_info, nullptr, &module), VK_SUCCESS);
      const VkComputePipelineCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main"},
         .layout = layout,
      };
      testing::internal::CaptureStderr();
      VkPipeline pipeline;
      EXPECT_EQ(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
                VK_SUCCESS);
      std::string written = testing::internal::GetCapturedStderr();
      vkDestroyPipeline(device, pipeline, nullptr);
      vkDestroyShaderModule(device, module, nullptr);
      vkDestroyPipelineLayout(device, layout, nullptr);
      vkDestroyDescriptorSetLayout(device, set, nullptr);
      return written;
   }

   static bool has(const std::string &text, const char *part)
   {
      return text.find(part) != std::string::npos;
   }
};

TEST_P(Settings, Profile)
{
   const auto subgroup_size = [](const void *next) {
      Session session(VK_API_VERSION_1_3, Listening::none, next);
      VkPhysicalDeviceSubgroupProperties subgroup = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
      vkGetPhysicalDeviceProperties2(session.physical, &properties);
      return std::pair(subgroup.subgroupSize, properties.properties.vendorID);
   };
   const auto [size, vendor] = subgroup_size(nullptr);
   EXPECT_EQ(size, 32u);
   GetParam().with({{"profile", "amd"}}, [&](const void *next) {
      EXPECT_EQ(subgroup_size(next), std::pair(64u, vendor));
   });
   GetParam().with({{"profile", "nvidia+identity"}}, [&](const void *next) {
      EXPECT_EQ(subgroup_size(next), std::pair(32u, 0x10deu));
   });
}

TEST_P(Settings, LoweringAndForms)
{
   const auto written_with = [&](const char *lowering, const char *debug) {
      std::string written;
      GetParam().with({{"lowering", lowering}, {"debug", debug}},
                      [&](const void *next) { written = make_pipeline(next); });
      return written;
   };
   const std::string left = written_with("auto", "spirv"), tiles = written_with("tiles", "spirv"),
                     registers = written_with("registers", "spirv"),
                     nir = written_with("registers", "nir"),
                     both = written_with("registers", "nir,spirv"),
                     silent = written_with("registers", "log");
   EXPECT_FALSE(has(left, "shader 'main' as spirv"));
   EXPECT_TRUE(has(tiles, "shader 'main' as spirv"));
   EXPECT_TRUE(has(tiles, "OpTypeCooperativeMatrixKHR"));
   EXPECT_TRUE(has(registers, "shader 'main' as spirv"));
   EXPECT_FALSE(has(registers, "OpTypeCooperativeMatrixKHR"));
   EXPECT_FALSE(has(registers, "shader 'main' as nir"));
   EXPECT_TRUE(has(nir, "shader 'main' as nir"));
   EXPECT_FALSE(has(nir, "shader 'main' as spirv"));
   EXPECT_TRUE(has(both, "shader 'main' as nir") && has(both, "shader 'main' as spirv"));
   EXPECT_FALSE(has(silent, "shader 'main' as"));
}

TEST_P(Settings, Log)
{
   const auto written = [](const void *next) {
      Session session(VK_API_VERSION_1_0, Listening::none, next);
      testing::internal::CaptureStderr();
      EXPECT_EQ(session.create_device({VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME}, nullptr),
                VK_ERROR_EXTENSION_NOT_PRESENT);
      return testing::internal::GetCapturedStderr();
   };
   EXPECT_FALSE(has(written(nullptr), "weft: vkCreateDevice: no VK_KHR_cooperative_matrix"));
   GetParam().with({{"debug", "log"}}, [&](const void *next) {
      EXPECT_TRUE(has(written(next), "weft: vkCreateDevice: no VK_KHR_cooperative_matrix"));
   });
}

TEST_P(Settings, MistakesAreNamed)
{
   GetParam().with({{"lowering", "magic"}}, [&](const void *next) {
      testing::internal::CaptureStderr();
      Session session(VK_API_VERSION_1_3, Listening::messenger_and_chain, next);
      EXPECT_TRUE(has(testing::internal::GetCapturedStderr(),
                      "weft: setting ignored: lowering: 'magic' is not one of auto"));
      EXPECT_EQ(session.count_heard("setting ignored: lowering: 'magic'"), 1u);
   });
}

INSTANTIATE_TEST_SUITE_P(From, Settings,
                         testing::Values(NamedSource{"environment", from_environment},
                                         NamedSource{"file", from_file},
                                         NamedSource{"vkconfig", from_vkconfig},
                                         NamedSource{"application", from_application}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace weft::e2e
