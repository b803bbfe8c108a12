// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/spirv_dump.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

namespace weft {

void dump_spirv(const std::string &folder, const ShaderSource &source,
                const cpu::CompileOptions &options)
{
   std::string arguments = "--entry " + source.entry_point + " --subgroup-size " +
                           std::to_string(options.subgroup_size) +
                           (options.robust_buffer_access ? " --robust" : " --no-robust");
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
   std::ofstream spv(path + ".spv", std::ios::binary), args(path + ".args");
   spv << module << std::flush;
   args << arguments << '\n' << std::flush;
   if (!spv || !args)
      fprintf(stderr, "weft: cannot write %s.spv and .args\n", path.c_str());
}

} // namespace weft
