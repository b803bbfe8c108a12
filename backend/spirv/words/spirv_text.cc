// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/words/spirv_text.h"

#include <spirv-tools/libspirv.h>

#include <iterator>
#include <string_view>

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

spv_target_env environment_of_text(const std::string &text)
{
   static constexpr std::string_view mark = "; Version: 1.";
   static constexpr spv_target_env environments[] = {
      SPV_ENV_UNIVERSAL_1_0, SPV_ENV_UNIVERSAL_1_1, SPV_ENV_UNIVERSAL_1_2, SPV_ENV_UNIVERSAL_1_3,
      SPV_ENV_UNIVERSAL_1_4, SPV_ENV_UNIVERSAL_1_5, SPV_ENV_UNIVERSAL_1_6};
   const size_t found = text.find(mark);
   if (found > text.find("Op") || found + mark.size() >= text.size())
      return SPV_ENV_UNIVERSAL_1_6;
   const unsigned minor = unsigned(text[found + mark.size()] - '0');
   return minor < std::size(environments) ? environments[minor] : SPV_ENV_UNIVERSAL_1_6;
}

} // namespace

Result<std::vector<uint32_t>> assemble(const std::string &text)
{
   spv_context context = spvContextCreate(environment_of_text(text));
   spv_binary binary = nullptr;
   spv_diagnostic diagnostic = nullptr;
   const spv_result_t result = spvTextToBinaryWithOptions(
      context, text.data(), text.size(), SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS, &binary,
      &diagnostic);
   std::vector<uint32_t> words;
   std::string message = "not SPIR-V assembly";
   if (result == SPV_SUCCESS)
      words.assign(binary->code, binary->code + binary->wordCount);
   else if (diagnostic && diagnostic->error)
      message = "line " + std::to_string(diagnostic->position.line + 1) + ", column " +
                std::to_string(diagnostic->position.column + 1) + ": " + diagnostic->error;
   spvDiagnosticDestroy(diagnostic);
   spvBinaryDestroy(binary);
   spvContextDestroy(context);
   if (result != SPV_SUCCESS)
      return Error{message};
   return words;
}

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
