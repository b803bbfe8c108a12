// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/compute_shader.h"

#include "icd/device.h"
#include "icd/log.h"
#include "icd/program_object.h"
#include "icd/shader_request.h"

#include "vk_log.h"

namespace weft {

cpu::Programs &ComputeShader::programs() const
{
   return *object->programs;
}

DiskCache *program_cache(const Device *device)
{
   return device->vk.disable_internal_cache ? nullptr : shader_cache();
}

VkResult compile_shader(Device *device, const char *command, const ShaderRequest &request,
                        bool may_compile, vk_pipeline_cache *cache, ProgramObject **out)
{
   auto programs =
      cpu::compile_cached(program_cache(device), request.source, request.options, may_compile);
   if (!programs) {
      // VK_ERROR_INVALID_SHADER_NV belongs to VK_NV_glsl_shader. For other invalid input without a
      // code of its own, the specification has VK_ERROR_UNKNOWN.
      report_error(&device->vk.base, std::string(command) + ": " + programs.error().message);
      return VK_ERROR_UNKNOWN;
   }
   if (!*programs)
      return VK_PIPELINE_COMPILE_REQUIRED;
   ProgramObject *object = create_program_object(&device->vk, request.key, std::move(*programs));
   if (!object)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   *out = cache_program(cache, object);
   return VK_SUCCESS;
}

} // namespace weft
