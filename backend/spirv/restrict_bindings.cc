// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/restrict_bindings.h"

#include "compiler/spirv/spirv.h"

#include <map>

namespace weft::spirv {

std::set<std::pair<uint32_t, uint32_t>> restrict_bindings(std::span<const uint32_t> words)
{
   struct Decorations {
      bool is_restrict = false;
      uint32_t set = 0, binding = 0;
   };
   std::map<uint32_t, Decorations> variables;
   constexpr size_t header_words = 5;
   for (size_t at = header_words; at < words.size();) {
      const uint32_t length = words[at] >> 16;
      if (length == 0 || at + length > words.size())
         break;
      if ((words[at] & 0xffff) == SpvOpDecorate && length >= 3) {
         Decorations &d = variables[words[at + 1]];
         const uint32_t decoration = words[at + 2];
         d.is_restrict |= decoration == SpvDecorationRestrict;
         if (decoration == SpvDecorationDescriptorSet && length > 3)
            d.set = words[at + 3];
         if (decoration == SpvDecorationBinding && length > 3)
            d.binding = words[at + 3];
      }
      at += length;
   }
   std::set<std::pair<uint32_t, uint32_t>> bindings;
   for (const auto &[id, d] : variables) {
      if (d.is_restrict)
         bindings.insert({d.set, d.binding});
   }
   return bindings;
}

} // namespace weft::spirv
