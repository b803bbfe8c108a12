// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/shader_key.h"

namespace weft {

namespace {

void add_operation(KeyBuilder &builder, const MatrixOperation &operation)
{
   const auto &[m, n, k, a, b, c, result, saturating, scope] = operation;
   builder.add(m, n, k, a, b, c, result, saturating, scope);
}

} // namespace

void add_to_key(KeyBuilder &builder, const ShaderSource &source)
{
   const auto &[spirv, entry_point, spec_constants] = source;
   builder.add_bytes(std::as_bytes(spirv));
   builder.add(entry_point);
   builder.add(spec_constants.size());
   for (const auto &[id, value] : spec_constants) {
      builder.add(id);
      builder.add_bytes(value);
   }
}

void add_to_key(KeyBuilder &builder, std::span<const MatrixOperation> operations)
{
   builder.add(operations.size());
   for (const MatrixOperation &operation : operations)
      add_operation(builder, operation);
}

void add_to_key(KeyBuilder &builder, std::span<const FlexibleOperation> operations)
{
   builder.add(operations.size());
   for (const auto &[granularity, max_dimension, workgroup_invocations] : operations) {
      add_operation(builder, granularity);
      builder.add(max_dimension, workgroup_invocations);
   }
}

} // namespace weft
