// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The common includes of tests, compiled once. Files include all headers that they use themselves:
/// they compile with -Db_pch=false too.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>
