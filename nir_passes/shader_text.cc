// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/shader_text.h"

#include "compiler/nir/nir.h"

#include <cstdio>
#include <cstdlib>

namespace weft {

std::string shader_text(nir_shader *nir)
{
   char *buffer = nullptr;
   size_t size = 0;
   FILE *file = open_memstream(&buffer, &size);
   if (!file)
      return {};
   nir_print_shader(nir, file);
   fclose(file);
   std::string text(buffer, size);
   free(buffer);
   return text;
}

PassObserver show_text(const TextObserver &show)
{
   if (!show)
      return {};
   return [show](const char *pass, nir_shader *nir) { show(pass, shader_text(nir)); };
}

} // namespace weft
