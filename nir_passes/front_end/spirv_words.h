// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reads a SPIR-V module's words, instruction by instruction (SPIR-V, "Binary Form"). The words may
/// be invalid: the walk ends at the first damaged instruction.

#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct Instruction {
   uint32_t opcode;
   std::span<const uint32_t> operands; ///< the words after the first
};

/// The instructions of a module, for range-based loops.
class Instructions {
public:
   explicit Instructions(std::span<const uint32_t> words)
       : words(words.size() < header_words ? words.first(0) : words.subspan(header_words))
   {
   }

   class Iterator {
   public:
      explicit Iterator(std::span<const uint32_t> rest) : rest(rest) { end_if_damaged(); }
      Instruction operator*() const { return {rest[0] & 0xffff, rest.subspan(1, length() - 1)}; }
      Iterator &operator++()
      {
         rest = rest.subspan(length());
         end_if_damaged();
         return *this;
      }
      bool operator==(std::default_sentinel_t) const { return rest.empty(); }

   private:
      size_t length() const { return rest[0] >> 16; }
      void end_if_damaged()
      {
         if (!rest.empty() && (length() == 0 || length() > rest.size()))
            rest = {};
      }

      std::span<const uint32_t> rest;
   };

   Iterator begin() const { return Iterator(words); }
   std::default_sentinel_t end() const { return {}; }

   static constexpr size_t header_words = 5;

private:
   std::span<const uint32_t> words;
};

/// The literal string that begins with the first of these words. It ends at the last word at the
/// latest.
inline std::string literal_string(std::span<const uint32_t> words)
{
   const char *text = reinterpret_cast<const char *>(words.data());
   return words.empty() ? std::string() : std::string(text, strnlen(text, words.size_bytes()));
}

} // namespace weft
