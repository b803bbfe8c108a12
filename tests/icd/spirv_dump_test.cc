// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/spirv_dump.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weft {
namespace {

std::string contents(const std::filesystem::path &path)
{
   std::ifstream file(path, std::ios::binary);
   return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SpirvDump, IsWhatWeftcTakes)
{
   const test::ScratchFolder scratch;
   const std::string folder = scratch.path / "dump";
   ASSERT_TRUE(std::filesystem::create_directory(folder));
   const uint32_t words[] = {0x07230203, 0x00010600, 1, 2, 3}, number = 4711;
   const uint64_t wide = uint64_t(1) << 40;
   ShaderSource source = {words, "sum", {}};
   source.spec_constants = {{7, std::as_bytes(std::span(&number, 1))},
                            {8, std::as_bytes(std::span(&wide, 1))}};
   // Two dumps of the same shader make one file; another option makes another file.
   cpu::CompileOptions options;
   options.subgroup_size = 16;
   for (const bool robust : {true, true, false}) {
      options.robust_buffer_access = robust;
      dump_spirv(folder, source, options);
   }

   std::vector<std::string> arguments;
   for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".args")
         arguments.push_back(contents(entry.path()));
      else
         EXPECT_EQ(contents(entry.path()),
                   std::string(reinterpret_cast<const char *>(words), sizeof(words)));
   }
   std::sort(arguments.begin(), arguments.end());
   EXPECT_EQ(arguments,
             (std::vector<std::string>{
                "--entry sum --subgroup-size 16 --no-robust --spec 7=4711 --spec 8=1099511627776\n",
                "--entry sum --subgroup-size 16 --robust --spec 7=4711 --spec 8=1099511627776\n"}));
   std::filesystem::remove_all(folder);

   testing::internal::CaptureStderr();
   dump_spirv(folder, source, {});
   EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot write " + folder),
             std::string::npos);
}

/// Links of other programs in the place of the files are not followed.
TEST(SpirvDump, LeavesLinksAlone)
{
   const test::ScratchFolder scratch;
   const uint32_t words[] = {0x07230203, 0x00010600, 1, 2, 3};
   const ShaderSource source = {words, "main", {}};
   dump_spirv(scratch.path, source, {});
   std::vector<std::filesystem::path> files;
   for (const auto &entry : std::filesystem::directory_iterator(scratch.path))
      files.push_back(entry.path());
   ASSERT_EQ(files.size(), 2u);
   scratch.write("precious", "kept");
   for (const std::filesystem::path &file : files) {
      std::filesystem::remove(file);
      std::filesystem::create_symlink(scratch.path / "precious", file);
   }
   testing::internal::CaptureStderr();
   dump_spirv(scratch.path, source, {});
   EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot write"), std::string::npos);
   EXPECT_EQ(contents(scratch.path / "precious"), "kept");
}

} // namespace
} // namespace weft
