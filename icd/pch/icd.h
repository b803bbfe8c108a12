// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Headers that most files of the driver include, compiled once. Files still include all headers
/// that they use: they must also compile with -Db_pch=false.

#include "vk_alloc.h"
#include "vk_command_buffer.h"
#include "vk_device.h"
#include "vk_log.h"
#include "vk_physical_device.h"
#include "vk_util.h"

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
