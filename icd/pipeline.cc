// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/pipeline.h"

#include "icd/catching.h"
#include "icd/device.h"
#include "icd/pipeline_binary.h"
#include "icd/program_object.h"
#include "icd/settings.h"
#include "icd/shader_request.h"
#include "icd/spirv_dump.h"

#include "vk_alloc.h"
#include "vk_log.h"

#include <cstring>
#include <map>
#include <memory>

namespace weft {

namespace {

/// Lets the compiler store the text after each of its phases.
void capture_phases(std::vector<Representation> *representations, cpu::CompileOptions *options)
{
   // Names must be unique within an executable, and a pass may run several times. The compiler
   // copies the function.
   options->dump = [=, turns = std::make_shared<std::map<std::string, uint32_t>>()](
                      const char *phase, const std::string &text) {
      const uint32_t turn = ++(*turns)[phase];
      std::string name = phase;
      if (turn > 1)
         name.append(1, '#').append(std::to_string(turn));
      representations->push_back(
         {std::move(name), "the shader after this phase of the compiler", text});
   };
}

/// Takes the programs from a binary or a cache, or compiles them.
VkResult make_shader(Device *device, vk_pipeline_cache *cache,
                     const VkComputePipelineCreateInfo &info, VkPipelineCreateFlags2KHR flags,
                     Pipeline *pipeline, VkPipelineCreationFeedback *feedback)
{
   ComputeShader &shader = pipeline->shader;
   if (const KeyedPrograms *binary = programs_of_binary(info)) {
      number_dynamic_buffers(info, shader.dynamic_base);
      shader.object = create_program_object(&device->vk, binary->key, binary->programs);
      return shader.object ? VK_SUCCESS : vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   }

   ShaderRequest request = make_request(device, info);
   if (!settings().spirv_folder.empty())
      dump_spirv(settings().spirv_folder, request.source, request.options);
   memcpy(shader.dynamic_base, request.dynamic_base, sizeof(shader.dynamic_base));

   // The text of the phases is not cached, so a pipeline that captures it is compiled.
   if (flags & VK_PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR) {
      pipeline->representations = new std::vector<Representation>();
      capture_phases(pipeline->representations, &request.options);
   } else {
      shader.object = lookup_program(cache, request.key);
   }
   if (shader.object) {
      feedback->flags |= VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
      return VK_SUCCESS;
   }
   const bool may_compile =
      !(flags & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_KHR);
   return compile_shader(device, "vkCreateComputePipelines", request, may_compile, cache,
                         &shader.object);
}

void destroy(vk_device *device, vk_pipeline *vk, const VkAllocationCallbacks *allocator)
{
   auto *pipeline = reinterpret_cast<Pipeline *>(vk);
   release_program(device, pipeline->shader.object);
   delete pipeline->representations;
   vk_pipeline_free(device, allocator, vk);
}

const vk_pipeline_ops pipeline_ops = {
   .destroy = destroy,
   .get_executable_properties = get_executable_properties,
   .get_executable_statistics = get_executable_statistics,
   .get_internal_representations = get_internal_representations,
};

} // namespace

VkResult create_pipeline(Device *device, vk_pipeline_cache *cache,
                         const VkComputePipelineCreateInfo &info,
                         const VkAllocationCallbacks *allocator, VkPipeline *pipeline_out,
                         VkPipelineCreationFeedback *feedback)
{
   const VkPipelineCreateFlags2KHR flags = vk_compute_pipeline_create_flags(&info);
   auto *pipeline = static_cast<Pipeline *>(vk_pipeline_zalloc(&device->vk, &pipeline_ops,
                                                               VK_PIPELINE_BIND_POINT_COMPUTE,
                                                               flags, allocator, sizeof(Pipeline)));
   if (!pipeline)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);

   const VkResult result =
      catching(device, [&] { return make_shader(device, cache, info, flags, pipeline, feedback); });

   if (result != VK_SUCCESS) {
      delete pipeline->representations;
      vk_pipeline_free(&device->vk, allocator, &pipeline->vk);
      return result;
   }
   *pipeline_out = Pipeline_to_handle(pipeline);
   return VK_SUCCESS;
}

} // namespace weft
