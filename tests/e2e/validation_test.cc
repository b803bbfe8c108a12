// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whether Khronos' validation layers are loaded in a run that requires them
/// (WEFT_TEST_VALIDATION=1). Without them every other test would pass unvalidated.

#include "tests/e2e/cases.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace weft::e2e {

namespace {

/// Receives the validation layers' errors while it lives, so that they fail no test.
class Objections {
public:
   Objections() : kept(on_validation_error)
   {
      on_validation_error = [this](const std::string &message) { heard += message + "\n"; };
   }
   ~Objections() { on_validation_error = std::move(kept); }
   Objections(const Objections &) = delete;
   Objections &operator=(const Objections &) = delete;

   std::string heard;

private:
   std::function<void(const std::string &)> kept;
};

/// Breaks rules of the API that harm no driver.
std::string use_wrongly(const Device &device)
{
   Objections objections;
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 16, .usage = 0};
   VkBuffer buffer = VK_NULL_HANDLE;
   vkCreateBuffer(device.device, &info, nullptr, &buffer);
   vkDestroyBuffer(device.device, buffer, nullptr);
   return objections.heard;
}

/// A shader module without an entry point, and with a capability that Vulkan lacks.
std::string make_wrong_shader(const Device &device)
{
   Objections objections;
   const uint32_t spirv[] = {
      0x07230203, 0x00010000, 0, 1, 0, // header
      0x00020011, 1,                   // OpCapability Shader
      0x00020011, 6,                   // OpCapability Kernel
      0x0003000e, 0,          1,       // OpMemoryModel Logical GLSL450
   };
   const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                          .codeSize = sizeof(spirv),
                                          .pCode = spirv};
   VkShaderModule module = VK_NULL_HANDLE;
   vkCreateShaderModule(device.device, &info, nullptr, &module);
   vkDestroyShaderModule(device.device, module, nullptr);
   return objections.heard;
}

} // namespace

TEST(Validation, IsHeard)
{
   if (!getenv("WEFT_TEST_VALIDATION"))
      GTEST_SKIP() << "WEFT_TEST_VALIDATION is not set";
   const std::string use = use_wrongly(plain_device());
   EXPECT_NE(use.find("VkBufferCreateInfo"), std::string::npos) << use;
   const std::string shader = make_wrong_shader(plain_device());
   EXPECT_NE(shader.find("spirv-val"), std::string::npos) << shader;
   count_case();
}

} // namespace weft::e2e
