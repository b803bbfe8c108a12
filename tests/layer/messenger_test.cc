// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's messages to the application's messengers. The loader may hold its lock meanwhile, so
/// no message may go through it.

#include "tests/layer/fixture.h"

#include <algorithm>
#include <functional>

namespace weft::layer_test {

namespace {

class Messenger : public LayerTest {
protected:
   /// The messages of a messenger, and the action of its callback.
   struct Ear {
      std::vector<std::string> heard;
      std::vector<VkDebugUtilsMessageSeverityFlagBitsEXT> severities;
      std::vector<VkObjectType> objects;
      std::function<void()> react;
   };

   static VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                   VkDebugUtilsMessageTypeFlagsEXT type,
                                   const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
   {
      auto *ear = static_cast<Ear *>(user);
      EXPECT_EQ(type, VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT);
      ear->heard.emplace_back(data->pMessage);
      ear->severities.push_back(severity);
      if (data->objectCount)
         ear->objects.push_back(data->pObjects->objectType);
      if (ear->react)
         ear->react();
      return VK_TRUE; // means nothing
   }

   VkDebugUtilsMessengerEXT listen(Ear &ear)
   {
      VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
      EXPECT_VK(create_messenger(messenger_info(hear, &ear), &messenger));
      return messenger;
   }

   /// Causes one error message: the layer refuses to create a device.
   void refuse_a_device()
   {
      const char *const names[] = {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME};
      const VkPhysicalDeviceShaderBfloat16FeaturesKHR features = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
         .shaderBFloat16CooperativeMatrix = VK_TRUE,
      };
      EXPECT_EQ(
         create_device(
            {.pNext = &features, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names}),
         VK_ERROR_FEATURE_NOT_PRESENT);
   }
};

TEST_F(Messenger, HearsEveryMessageOnceAndNotThroughTheLoader)
{
   ASSERT_VK(create_instance());
   Ear first, second;
   const VkDebugUtilsMessengerEXT one = listen(first), two = listen(second);
   refuse_a_device();
   refuse_a_device();
   for (const Ear *ear : {&first, &second}) {
      EXPECT_EQ(std::ranges::count(ear->severities, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT),
                2);
      EXPECT_NE(ear->heard.back().find("vkCreateDevice: no VK_KHR_shader_bfloat16 on 'fake'"),
                std::string::npos);
      EXPECT_EQ(ear->objects.back(), VK_OBJECT_TYPE_PHYSICAL_DEVICE);
   }
   EXPECT_TRUE(driver.submitted.empty());
   destroy_messenger(one);
   refuse_a_device();
   EXPECT_EQ(second.heard.size(), first.heard.size() + 1);
   destroy_messenger(VK_NULL_HANDLE);
   refuse_a_device();
   EXPECT_EQ(second.heard.size(), first.heard.size() + 2);
   destroy_messenger(two);

   // The application's own message goes past the layer.
   EXPECT_EQ(layer.pfnGetInstanceProcAddr(instance, "vkSubmitDebugUtilsMessageEXT"),
             FakeDriver::get_instance_proc_addr(instance, "vkSubmitDebugUtilsMessageEXT"));
}

TEST_F(Messenger, IsToldOnceWhatADeviceLacks)
{
   ASSERT_VK(create_instance());
   for (int i = 0; i < 2; i++)
      EXPECT_TRUE(advertised());
   EXPECT_EQ(std::ranges::count(infos, "no VK_KHR_shader_bfloat16 on 'fake': no matrices of "
                                       "bfloat16"),
             1);
   EXPECT_TRUE(messages.empty());
}

TEST_F(Messenger, ChoosesSeveritiesAndTypes)
{
   ASSERT_VK(create_instance());
   Ear warnings, validation;
   VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(hear, &warnings);
   info.messageSeverity &= ~uint32_t(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT);
   VkDebugUtilsMessengerEXT one, two;
   ASSERT_VK(create_messenger(info, &one));
   info = messenger_info(hear, &validation);
   info.messageType &= ~uint32_t(VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT);
   ASSERT_VK(create_messenger(info, &two));
   refuse_a_device();
   EXPECT_EQ(std::ranges::count(warnings.severities, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT),
             0);
   EXPECT_FALSE(warnings.heard.empty()); // the device's missing features
   EXPECT_TRUE(validation.heard.empty());
   destroy_messenger(one);
   destroy_messenger(two);
}

TEST_F(Messenger, HasTheHandleOfTheNextLayer)
{
   ASSERT_VK(create_instance());
   Ear ear;
   VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
   driver.fail("vkCreateDebugUtilsMessengerEXT", VK_ERROR_OUT_OF_HOST_MEMORY);
   EXPECT_EQ(create_messenger(messenger_info(hear, &ear), &messenger), VK_ERROR_OUT_OF_HOST_MEMORY);
   refuse_a_device();
   EXPECT_TRUE(ear.heard.empty());
   // The driver's count of objects shows that it gets its own handle back.
   const size_t before = driver.live();
   messenger = listen(ear);
   EXPECT_EQ(driver.live(), before + 1);
   destroy_messenger(messenger);
   EXPECT_EQ(driver.live(), before);
}

TEST_F(Messenger, MayCallVulkan)
{
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised()); // the device's missing features have been reported
   Ear first, second, third;
   const VkDebugUtilsMessengerEXT one = listen(first), two = listen(second);
   VkDebugUtilsMessengerEXT three = VK_NULL_HANDLE;
   const size_t live = driver.live();
   bool reacted = false;
   first.react = [&] {
      if (std::exchange(reacted, true))
         return;
      EXPECT_TRUE(advertised());
      refuse_a_device();
      destroy_messenger(two);
      three = listen(third);
   };
   refuse_a_device();
   destroy_messenger(one);
   // The callback's own error is the second messenger's last message. The error that called it does
   // not reach the third messenger, which was added meanwhile.
   ASSERT_FALSE(second.heard.empty());
   EXPECT_EQ(std::ranges::count(second.severities, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT),
             1);
   EXPECT_TRUE(third.heard.empty());
   refuse_a_device();
   EXPECT_EQ(third.heard.size(), 1u);
   destroy_messenger(three);
   EXPECT_EQ(driver.live(), live - 2);
}

TEST_F(Messenger, OfAnInstanceListensUntilItIsCreated)
{
   const Environment profile("WEFT_PROFILE", "acme");
   Ear first, second, warnings;
   VkDebugUtilsMessengerCreateInfoEXT last = messenger_info(hear, &warnings),
                                      other = messenger_info(hear, &second),
                                      chain = messenger_info(hear, &first);
   last.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
   other.pNext = &last;
   chain.pNext = &other;
   testing::internal::CaptureStderr();
   ASSERT_VK(create_instance(VK_API_VERSION_1_3, &chain));
   const std::string written = testing::internal::GetCapturedStderr();
   EXPECT_NE(written.find("weft: setting ignored: profile: 'acme'"), std::string::npos);
   refuse_a_device();
   EXPECT_EQ(first.heard.size(), 1u);
   EXPECT_EQ(second.heard.size(), 1u);
   EXPECT_TRUE(first.objects.empty());
   EXPECT_TRUE(warnings.heard.empty());
}

TEST_F(Messenger, IsWrittenToStderrWhereTheSettingsWantIt)
{
   for (const char *debug : {"spirv", "log"}) {
      const Environment variable("WEFT_DEBUG", debug);
      ASSERT_VK(create_instance());
      testing::internal::CaptureStderr();
      refuse_a_device();
      const std::string written = testing::internal::GetCapturedStderr();
      EXPECT_EQ(written.find("weft: vkCreateDevice: no VK_KHR_shader_bfloat16") !=
                   std::string::npos,
                debug == std::string("log"));
      destroy_instance();
   }
}

} // namespace

} // namespace weft::layer_test
