// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/front_end/validate_spirv.h"

#include "nir_passes/front_end/spirv_words.h"

#include "threads/until_unload.h"

#include "compiler/spirv/spirv.h"
#include "util/mesa-blake3.h"
#include <spirv-tools/libspirv.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace weft {

namespace {

template <auto destroy>
struct Deleter {
   template <typename T>
   void operator()(T *object) const
   {
      destroy(object);
   }
};

using Context = std::unique_ptr<spv_context_t, Deleter<spvContextDestroy>>;
using Options = std::unique_ptr<spv_validator_options_t, Deleter<spvValidatorOptionsDestroy>>;
using Diagnostic = std::unique_ptr<spv_diagnostic_t, Deleter<spvDiagnosticDestroy>>;

constexpr size_t schema_word = 4;

/// The validation with readable names in the messages, which takes a sixth longer.
Options make_options(bool friendly_names)
{
   Options options(spvValidatorOptionsCreate());
   spvValidatorOptionsSetRelaxBlockLayout(options.get(), true);
   spvValidatorOptionsSetUniformBufferStandardLayout(options.get(), true);
   spvValidatorOptionsSetScalarBlockLayout(options.get(), true);
   spvValidatorOptionsSetWorkgroupScalarBlockLayout(options.get(), true);
   spvValidatorOptionsSetAllowLocalSizeId(options.get(), true);
   spvValidatorOptionsSetAllowOffsetTextureOperand(options.get(), true);
   spvValidatorOptionsSetAllowVulkan32BitBitwise(options.get(), true);
   spvValidatorOptionsSetFriendlyNames(options.get(), friendly_names);
   return options;
}

/// The first Offset of a valid module that is negative in Mesa's types, whose offsets are ints.
/// Mesa would take it for no offset.
std::optional<uint32_t> find_huge_offset(std::span<const uint32_t> words)
{
   for (const auto &[opcode, operands] : Instructions(words)) {
      /* An Offset outside of OpMemberDecorate belongs to a decoration group. */
      const size_t decoration = opcode == SpvOpDecorate ? 1 : opcode == SpvOpMemberDecorate ? 2 : 0;
      if (decoration && operands[decoration] == SpvDecorationOffset &&
          operands[decoration + 1] > INT32_MAX)
         return operands[decoration + 1];
   }
   return std::nullopt;
}

/// The latest valid modules of the process, by their hashes. Programs create many pipelines from
/// one module, with different specialization constants. Thread-safe.
class ValidModules {
public:
   using Hash = std::array<uint8_t, BLAKE3_OUT_LEN>;

   bool contains(const Hash &hash)
   {
      const std::lock_guard lock(mutex);
      return hashes.contains(hash);
   }
   void add(const Hash &hash)
   {
      constexpr size_t most = 1024;
      const std::lock_guard lock(mutex);
      if (hashes.size() == most)
         hashes.clear();
      hashes.insert(hash);
   }

private:
   std::mutex mutex;
   std::set<Hash> hashes;
};

ValidModules::Hash hash_of(std::span<const uint32_t> words)
{
   ValidModules::Hash hash;
   _mesa_blake3_compute(words.data(), words.size_bytes(), hash.data());
   return hash;
}

Result<bool> validate_new(std::span<const uint32_t> words)
{
   if (words.empty())
      return Error{"the SPIR-V module is empty"};
   /* SPIRV-Tools accepts the other byte order and ignores the reserved word; vtn fails at both. */
   if (words[0] != SpvMagicNumber)
      return Error{"invalid SPIR-V: the magic number is wrong"};
   if (words.size() > schema_word && words[schema_word] != 0)
      return Error{"invalid SPIR-V: the reserved word of the header is not zero"};

   const Context context(spvContextCreate(SPV_ENV_VULKAN_1_3));
   spv_const_binary_t binary = {words.data(), words.size()};
   const auto validate = [&](bool friendly_names) {
      spv_diagnostic message = nullptr;
      const spv_result_t result = spvValidateWithOptions(
         context.get(), make_options(friendly_names).get(), &binary, &message);
      return std::pair(result, Diagnostic(message));
   };
   if (validate(false).first == SPV_SUCCESS) {
      if (const std::optional<uint32_t> offset = find_huge_offset(words))
         return Error{"a member's Offset of " + std::to_string(*offset) +
                      " bytes is not supported"};
      return true;
   }

   const Diagnostic diagnostic = validate(true).second;
   std::string text = "invalid SPIR-V";
   if (diagnostic && diagnostic->error)
      text += std::string(": ") + diagnostic->error;
   while (text.back() == '\n' || text.back() == ' ')
      text.pop_back();
   return Error{text};
}

} // namespace

Result<bool> validate_spirv(std::span<const uint32_t> words)
{
   // Threads may compile while the process exits.
   static ValidModules &valid = until_unload(new ValidModules);
   const ValidModules::Hash hash = hash_of(words);
   if (valid.contains(hash))
      return true;
   Result<bool> result = validate_new(words);
   if (result)
      valid.add(hash);
   return result;
}

} // namespace weft
