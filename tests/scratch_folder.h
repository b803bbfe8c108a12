// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::test {

/// A folder for a test, which is removed with its contents.
struct ScratchFolder {
   ScratchFolder()
   {
      std::string pattern = std::filesystem::temp_directory_path() / "weft_test_XXXXXX";
      path = mkdtemp(pattern.data());
   }
   ~ScratchFolder() { std::filesystem::remove_all(path); }
   ScratchFolder(const ScratchFolder &) = delete;
   ScratchFolder &operator=(const ScratchFolder &) = delete;

   /// A file, and the folders that it is in.
   void write(const std::string &file, const std::string &text) const
   {
      const std::filesystem::path full = path / file;
      std::filesystem::create_directories(full.parent_path());
      std::ofstream(full) << text;
   }

   std::filesystem::path path;
};

} // namespace weft::test
