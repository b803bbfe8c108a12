#!/bin/sh
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
#
# llama.cpp's test-backend-ops on the CPU device: test_backend_ops.sh [option of test-backend-ops]...
#
# llama.cpp leaves CPUs out, hence --gpu.  Where a device is missing, test-backend-ops tests nothing
# and succeeds; where matrices are, it tests the shaders without them.  Both fail here.

set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
weft-run --gpu test-backend-ops test -b Vulkan0 "$@" >"$log" 2>&1 || status=$?
grep -E 'matrix cores:|FAIL|tests passed|Backend Vulkan0' "$log" || tail -n 20 "$log"
[ "$status" = 0 ] || exit "$status"
grep -q 'matrix cores: [KN]' "$log" || { echo 'test_backend_ops.sh: no matrices' >&2; exit 1; }
grep -q ' [1-9][0-9]*/[1-9][0-9]* tests passed' "$log" || { echo 'test_backend_ops.sh: no tests' >&2; exit 1; }
