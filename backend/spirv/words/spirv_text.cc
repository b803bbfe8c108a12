// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/words/spirv_text.h"

#include <spirv-tools/libspirv.h>

namespace weft::spirv {

namespace {

spv_target_env environment(std::span<const uint32_t> words)
{
   switch (words.size() > 1 ? words[1] : 0) {
   case 0x00010000:
   case 0x00010100:
   case 0x00010200:
   case 0x00010300:
      return SPV_ENV_VULKAN_1_1;
   case 0x00010400:
      return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
   case 0x00010500:
      return SPV_ENV_VULKAN_1_2;
   default:
      return SPV_ENV_VULKAN_1_3;
   }
}

} // namespace

std::string disassemble(std::span<const uint32_t> words)
{
   spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
   spv_text text = nullptr;
   const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT |
                            SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                            SPV_BINARY_TO_TEXT_OPTION_NO_HEADER;
   std::string result;
   if (spvBinaryToText(context, words.data(), words.size(), options, &text, nullptr) == SPV_SUCCESS)
      result.assign(text->str, text->length);
   spvTextDestroy(text);
   spvContextDestroy(context);
   return result;
}

Result<bool> validate(std::span<const uint32_t> words)
{
   spv_context context = spvContextCreate(environment(words));
   spv_const_binary_t binary = {words.data(), words.size()};
   spv_diagnostic diagnostic = nullptr;
   const spv_result_t result = spvValidate(context, &binary, &diagnostic);
   const std::string message =
      diagnostic && diagnostic->error ? diagnostic->error : "invalid SPIR-V";
   spvDiagnosticDestroy(diagnostic);
   spvContextDestroy(context);
   if (result != SPV_SUCCESS)
      return Error{message};
   return true;
}

} // namespace weft::spirv
