// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/spirv_dump.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>

namespace weft {
namespace {

/// O_NOFOLLOW: another user may have created a link under a name that can be guessed.
bool write_file(const std::string &path, std::string_view contents)
{
   const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
   FILE *file = fd >= 0 ? fdopen(fd, "w") : nullptr;
   if (!file)
      return false;
   const bool written = fwrite(contents.data(), 1, contents.size(), file) == contents.size();
   return fclose(file) == 0 && written;
}

} // namespace

void dump_spirv(const std::string &folder, const ShaderSource &source,
                const cpu::CompileOptions &options)
{
   std::string arguments = "--entry " + source.entry_point;
   // Without a size, weftc chooses as the driver does.
   if (!options.may_widen_subgroups || options.subgroup_size != cpu::default_subgroup_size)
      arguments += " --subgroup-size " + std::to_string(options.subgroup_size);
   arguments += (options.robust_buffer_access ? " --robust" : " --no-robust");
   for (const SpecConstant &constant : source.spec_constants) {
      uint64_t value = 0;
      memcpy(&value, constant.value.data(), std::min(constant.value.size(), sizeof(value)));
      arguments += " --spec " + std::to_string(constant.id) + "=" + std::to_string(value);
   }
   const std::string_view module(reinterpret_cast<const char *>(source.spirv.data()),
                                 source.spirv.size_bytes());
   const std::hash<std::string_view> hash;
   char name[17];
   snprintf(name, sizeof(name), "%016zx", hash(module) ^ hash(arguments) << 1);
   const std::string path = folder + "/" + name;
   if (!write_file(path + ".spv", module) || !write_file(path + ".args", arguments + "\n"))
      fprintf(stderr, "weft: cannot write %s.spv and .args\n", path.c_str());
}

} // namespace weft
