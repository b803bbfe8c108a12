// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The headers that most files of the layer include, compiled once. Every file still includes the
/// headers that it uses: all compile with -Db_pch=false too.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>
