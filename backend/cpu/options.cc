// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/options.h"

#include "nir_passes/setting_words.h"
#include "threads/until_unload.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace weft::cpu {

namespace {

/// Includes "spirv", a word for the layer, which reads the same variable.
constexpr std::string_view debug_words[] = {"log",  "nir",       "llvm",  "asm",
                                            "perf", "registers", "spirv", "times"};

/// "avx2, avx512 or amx".
std::string list_of_isa_words()
{
   std::string text;
   for (const IsaWord &word : isa_words()) {
      if (!text.empty())
         text += &word == &isa_words().back() ? " or " : ", ";
      text += word.word;
   }
   return text;
}

/// 0 when the text is not a number.
uint32_t parse_number(std::string_view text)
{
   uint32_t value = 0;
   const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
   return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

} // namespace

bool Options::has_debug(std::string_view word) const
{
   return std::find(debug.begin(), debug.end(), word) != debug.end();
}

Options parse_options(const char *(*lookup)(const char *name), std::vector<std::string> &problems)
{
   Options o;
   const auto value_of = [&](const char *name) {
      const char *value = lookup(name);
      return std::string_view(value ? value : "");
   };
   const auto complain = [&](const char *name, std::string_view value,
                             const std::string &expected) {
      problems.push_back(std::string(name) + "=" + std::string(value) + ": expected " + expected);
   };

   for_each_word(value_of("WEFT_DEBUG"), [&](std::string_view word) {
      if (std::find(std::begin(debug_words), std::end(debug_words), word) != std::end(debug_words))
         o.debug.emplace_back(word);
      else
         complain("WEFT_DEBUG", word, "log, nir, llvm, asm, perf, registers or times");
   });

   if (const std::string_view text = value_of("WEFT_THREADS"); !text.empty()) {
      const uint32_t threads = parse_number(text);
      if (threads >= 1 && threads <= 4096)
         o.threads = threads;
      else
         complain("WEFT_THREADS", text, "a number from 1 to 4096");
   }
   if (const std::string_view text = value_of("WEFT_ORDER"); !text.empty() && text != "0") {
      o.order = parse_number(text);
      if (!o.order)
         complain("WEFT_ORDER", text, "a number from 0 to 4294967295");
   }
   if (const std::string_view text = value_of("WEFT_ISA"); !text.empty()) {
      const auto word = std::ranges::find(isa_words(), text, &IsaWord::word);
      if (word != isa_words().end())
         o.isa = word->limit;
      else
         complain("WEFT_ISA", text, list_of_isa_words());
   }
   return o;
}

const Options &options()
{
   // Threads use the options while the process ends.
   static const Options &parsed = until_unload(new Options([] {
      std::vector<std::string> problems;
      // A program with more rights than its caller ignores the caller's settings.
      Options o = parse_options(
         [](const char *name) -> const char * { return secure_getenv(name); }, problems);
      for (const std::string &problem : problems)
         std::fprintf(stderr, "weft: %s\n", problem.c_str());
      return o;
   }()));
   return parsed;
}

} // namespace weft::cpu
