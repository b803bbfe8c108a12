// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The common includes of tests of passes and of generated code, compiled once. Files include all
/// headers that they use themselves: they compile with -Db_pch=false too.

#include "compiler/nir/nir.h"
#include "compiler/nir/nir_builder.h"

#include <gtest/gtest.h>

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
