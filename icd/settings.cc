// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/settings.h"

#include "backend/cpu/compiler.h"
#include "nir_passes/setting_words.h"
#include "threads/until_unload.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace weft {

uint32_t Settings::default_subgroup_size() const
{
   if (subgroup_size)
      return subgroup_size;
   return profile ? std::max(profile->subgroup_size, 8u) : cpu::default_subgroup_size;
}

Settings parse_settings(const char *(*lookup)(const char *name), std::vector<std::string> &problems)
{
   Settings s;
   const auto value_of = [&](const char *name) {
      const char *value = lookup(name);
      return std::string_view(value ? value : "");
   };
   const auto complain = [&](const char *name, std::string_view value,
                             const std::string &expected) {
      problems.push_back(std::string(name) + "=" + std::string(value) + ": expected " + expected);
   };

   if (const std::string_view text = value_of("WEFT_SUBGROUP_SIZE"); !text.empty()) {
      for (const uint32_t size : {8, 16, 32, 64}) {
         if (text == std::to_string(size))
            s.subgroup_size = size;
      }
      if (!s.subgroup_size)
         complain("WEFT_SUBGROUP_SIZE", text, "8, 16, 32 or 64");
   }
   for_each_word(value_of("WEFT_ICD_HIDE"), [&](std::string_view word) {
      static constexpr std::pair<std::string_view, bool Settings::*> features[] = {
         {"float16", &Settings::hides_float16},
         {"int16", &Settings::hides_int16},
         {"int8", &Settings::hides_int8},
         {"storage16", &Settings::hides_storage16},
         {"storage8", &Settings::hides_storage8},
         {"subgroup-sizes", &Settings::hides_subgroup_sizes},
      };
      const auto *const feature =
         std::ranges::find(features, word, [](const auto &f) { return f.first; });
      if (feature != std::end(features))
         s.*feature->second = true;
      else
         complain("WEFT_ICD_HIDE", word,
                  "float16, int16, int8, storage16, storage8 or subgroup-sizes");
   });
   s.spirv_folder = value_of("WEFT_DUMP_SPIRV");
   if (const std::string_view text = value_of("WEFT_POLL_PAUSE"); !text.empty()) {
      uint32_t pause = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pause);
      if (error == std::errc() && end == text.data() + text.size() && pause <= 10000)
         s.poll_pause_us = pause;
      else
         complain("WEFT_POLL_PAUSE", text, "a number of microseconds from 0 to 10000");
   }
   if (const std::string_view text = value_of("WEFT_DEVICE_TYPE"); text == "integrated-gpu")
      s.integrated_gpu = true;
   else if (!text.empty() && text != "cpu")
      complain("WEFT_DEVICE_TYPE", text, "cpu or integrated-gpu");
   if (const std::string_view text = value_of("WEFT_QUEUE"); text == "graphics")
      s.graphics_queue = true;
   else if (!text.empty() && text != "compute")
      complain("WEFT_QUEUE", text, "compute or graphics");
   bool registers = false;
   for_each_word(value_of("WEFT_DEBUG"),
                 [&](std::string_view word) { registers |= word == "registers"; });
   const bool own_profile = !value_of("WEFT_ICD_PROFILE").empty();
   const char *profile_name = own_profile ? "WEFT_ICD_PROFILE" : "WEFT_PROFILE";
   const std::string_view profile_text = value_of(profile_name);
   const ProfileSetting profile = read_profile(profile_text, registers);
   s.profile = profile.choice.profile;
   s.identity = profile.choice.identity;
   if (!profile.problem.empty())
      problems.push_back(std::string(profile_name) + "=" + std::string(profile_text) + ": " +
                         profile.problem);
   return s;
}

const Settings &settings()
{
   // Threads use it while the process ends.
   static const Settings &parsed = until_unload(new Settings([] {
      std::vector<std::string> problems;
      // A program with more rights than its caller ignores the caller's settings.
      Settings s = parse_settings(
         [](const char *name) -> const char * { return secure_getenv(name); }, problems);
      for (const std::string &problem : problems)
         std::fprintf(stderr, "weft: %s\n", problem.c_str());
      return s;
   }()));
   return parsed;
}

const MatrixSupport &advertised_matrices()
{
   static const MatrixSupport &advertised = until_unload(new MatrixSupport([] {
      const std::vector<MatrixOperation> operations =
         advertised_operations(cpu::supported_matrices().operations, settings().profile,
                               settings().default_subgroup_size());
      return MatrixSupport{operations, with_workgroup_scope(flexible_operations(
                                          operations, cpu::max_matrix_dimension))};
   }()));
   return advertised;
}

bool advertises_matrix_extension(std::string_view name)
{
   return !advertised_matrices().operations.empty() &&
          (!settings().identity || settings().identity->lists(name));
}

bool advertises_matrices_of(ComponentType type)
{
   return std::ranges::any_of(advertised_matrices().operations,
                              [&](const MatrixOperation &op) { return op.a == type; });
}

} // namespace weft
