// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/spirv_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

namespace weft::weftc {

namespace {

/* SPIR-V, "Binary Form". */
constexpr size_t header_words = 5;
constexpr uint32_t op_entry_point = 15;
constexpr uint32_t op_decorate = 71;
constexpr uint32_t execution_model_compute = 5;
constexpr uint32_t decoration_binding = 33;
constexpr uint32_t decoration_descriptor_set = 34;

/// Calls body with the operands of each instruction of an opcode; stops at the first that is
/// damaged.
template <typename Body>
void for_each(std::span<const uint32_t> words, uint32_t opcode, const Body &body)
{
   for (size_t at = header_words; at < words.size();) {
      const size_t length = words[at] >> 16;
      if (length == 0 || length > words.size() - at)
         return;
      if ((words[at] & 0xffff) == opcode)
         body(words.subspan(at + 1, length - 1));
      at += length;
   }
}

} // namespace

Result<std::vector<uint32_t>> read_spirv(const std::string &path)
{
   std::ifstream file;
   if (path != "-") {
      file.open(path, std::ios::binary);
      if (!file)
         return Error{strerror(errno)};
   }
   std::istream &in = path == "-" ? std::cin : file;
   const std::string bytes{std::istreambuf_iterator<char>(in), {}};
   if (in.bad())
      return Error{"reading failed"};
   if (bytes.size() % sizeof(uint32_t))
      return Error{"not SPIR-V: " + std::to_string(bytes.size()) + " bytes are not whole words"};
   std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
   if (!bytes.empty())
      memcpy(words.data(), bytes.data(), bytes.size());
   return words;
}

std::vector<std::string> entry_points(std::span<const uint32_t> words)
{
   std::vector<std::string> names;
   for_each(words, op_entry_point, [&](std::span<const uint32_t> operands) {
      if (operands.size() < 3 || operands[0] != execution_model_compute)
         return;
      const std::span<const uint32_t> text = operands.subspan(2);
      const char *name = reinterpret_cast<const char *>(text.data());
      names.emplace_back(name, strnlen(name, text.size_bytes()));
   });
   return names;
}

std::vector<std::pair<uint32_t, uint32_t>> bindings(std::span<const uint32_t> words)
{
   std::map<uint32_t, uint32_t> sets, bindings;
   for_each(words, op_decorate, [&](std::span<const uint32_t> operands) {
      if (operands.size() < 3)
         return;
      if (operands[1] == decoration_descriptor_set)
         sets[operands[0]] = operands[2];
      if (operands[1] == decoration_binding)
         bindings[operands[0]] = operands[2];
   });
   std::vector<std::pair<uint32_t, uint32_t>> pairs;
   for (const auto &[variable, binding] : bindings)
      pairs.emplace_back(sets[variable], binding);
   std::ranges::sort(pairs);
   pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
   return pairs;
}

} // namespace weft::weftc
