// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv/assemble.h"

#include <spirv-tools/libspirv.h>

#include <stdexcept>

namespace weft::test {

std::vector<uint32_t> assemble(const std::string &text, uint32_t version, NumericIds ids)
{
   const spv_context context = spvContextCreate(version == 0x00010300   ? SPV_ENV_UNIVERSAL_1_3
                                                : version == 0x00010500 ? SPV_ENV_UNIVERSAL_1_5
                                                                        : SPV_ENV_UNIVERSAL_1_6);
   spv_binary binary = nullptr;
   spv_diagnostic diagnostic = nullptr;
   std::vector<uint32_t> words;
   std::string error;
   const uint32_t options = ids == NumericIds::kept ? SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS
                                                    : SPV_TEXT_TO_BINARY_OPTION_NONE;
   if (spvTextToBinaryWithOptions(context, text.data(), text.size(), options, &binary,
                                  &diagnostic) == SPV_SUCCESS)
      words.assign(binary->code, binary->code + binary->wordCount);
   else if (diagnostic)
      error =
         "line " + std::to_string(diagnostic->position.line + 1) + ": " + diagnostic->error + "\n";
   spvDiagnosticDestroy(diagnostic);
   spvBinaryDestroy(binary);
   spvContextDestroy(context);
   if (words.empty())
      throw std::runtime_error("not SPIR-V assembly, " + error + text);
   return words;
}

} // namespace weft::test
