// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The headers that most files of backend/cpu include, compiled once. Every file still includes the
/// headers that it uses: all compile with -Db_pch=false too.

#include "compiler/nir/nir.h"
#include "compiler/nir/nir_builder.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>
