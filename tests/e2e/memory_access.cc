// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/memory_access.h"

namespace weft::e2e {

const char *storage_name(Storage storage)
{
   static const char *const names[] = {"storage buffer", "buffer reference", "shared memory"};
   return names[int(storage)];
}

std::string MemoryAccess::declarations() const
{
   switch (storage) {
   case Storage::buffer:
      return "";
   case Storage::reference:
      return "layout(buffer_reference, std430, buffer_reference_align = 16) buffer " + buffer +
             "_reference { " + pointee + " data[]; };\n";
   default:
      return "shared " + pointee + " " + array() + "[" + shared_size + "];\n";
   }
}

std::string MemoryAccess::array() const
{
   switch (storage) {
   case Storage::buffer:
      return buffer + ".data";
   case Storage::reference:
      return buffer + "_reference(" + address + ").data";
   default:
      return "shared_" + buffer;
   }
}

static std::string copy(const MemoryAccess &access, const std::string &to, const std::string &from)
{
   return "for (uint i = gl_LocalInvocationIndex; i < " + access.shared_size +
          "; i += gl_WorkGroupSize.x)\n      " + to + " = " + from + ";\n   ";
}

std::string MemoryAccess::copy_in() const
{
   if (storage != Storage::shared)
      return "";
   return copy(*this, array() + "[i]", buffer + ".data[" + begin + " + i]") + "barrier();\n   ";
}

std::string MemoryAccess::copy_out() const
{
   if (storage != Storage::shared)
      return "";
   return "barrier();\n   " + copy(*this, buffer + ".data[" + begin + " + i]", array() + "[i]");
}

} // namespace weft::e2e
