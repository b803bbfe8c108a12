// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"
#include "util/hash_table.h"

#include <memory>

namespace weft {

/// The copies of values, for passes that copy code: get() is the table that
/// nir_instr_clone_deep() and nir_cf_list_clone() read and fill.
class DefTable {
public:
   hash_table *get() const { return table.get(); }

   /// Null for a value without a copy.
   nir_def *find(const nir_def *def) const
   {
      const hash_entry *entry = _mesa_hash_table_search(get(), def);
      return entry ? static_cast<nir_def *>(entry->data) : nullptr;
   }
   void insert(const nir_def *def, nir_def *copy) { _mesa_hash_table_insert(get(), def, copy); }

private:
   struct Destroy {
      void operator()(hash_table *table) const { _mesa_hash_table_destroy(table, nullptr); }
   };
   std::unique_ptr<hash_table, Destroy> table{_mesa_pointer_hash_table_create(nullptr)};
};

} // namespace weft
