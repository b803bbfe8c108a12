// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/spirv_file.h"

#include "backend/spirv/words/spirv_text.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

namespace weft::weftc {

namespace {

/// Whether the bytes are text: a module has zero bytes in its first words (SPIR-V 2.3).
bool is_text(const std::string &bytes)
{
   return !bytes.empty() && bytes.find('\0') == std::string::npos;
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
   if (is_text(bytes))
      return spirv::assemble(bytes);
   if (bytes.size() % sizeof(uint32_t))
      return Error{"not SPIR-V: " + std::to_string(bytes.size()) + " bytes are not whole words"};
   std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
   if (!bytes.empty())
      memcpy(words.data(), bytes.data(), bytes.size());
   return words;
}

} // namespace weft::weftc
