#!/bin/sh
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
#
# Unpacks Weft and makes sure that there is a device with cooperative matrices:
#
#    weft.sh ARCHIVE SHA256 FOLDER [--cpu | --add | --layer | --profile NAME]…
#
# ARCHIVE, an address or a file, is taken only if it has this hash.  FOLDER/bin/weft-run then starts
# programs.  FOLDER.json describes the devices that a program finds which is started with the options
# at the end; without a device that has matrices the status is 1.

set -eu
fail() { echo "weft.sh: $*" >&2; exit 1; }
[ $# -ge 3 ] || fail 'usage: weft.sh ARCHIVE SHA256 FOLDER [option of weft-run]...'
archive=$1 sha256=$2 folder=$3
shift 3
[ $# -gt 0 ] || set -- --cpu

# The archive of this hash may be unpacked already: a job's second step, or a runner of one's own.
if [ "$(cat "$folder/sha256" 2>/dev/null)" != "$sha256" ]; then
  rm -rf "$folder" "$folder.new"
  mkdir -p "$folder.new"
  case $archive in
    *://*) curl --fail --silent --show-error --location --retry 3 --output "$folder.new/archive" "$archive" ;;
    *) cp "$archive" "$folder.new/archive" ;;
  esac
  found=$(sha256sum <"$folder.new/archive")
  [ "${found%% *}" = "$sha256" ] || { rm -r "$folder.new"; fail "$archive has another hash, ${found%% *}"; }
  tar -xJf "$folder.new/archive" --strip-components=1 -C "$folder.new"
  rm "$folder.new/archive"
  echo "$sha256" >"$folder.new/sha256"
  mv "$folder.new" "$folder"
fi

if ! "$folder/bin/weft-run" --info --json "$@" >"$folder.json"; then
  "$folder/bin/weft-run" --info "$@" >&2 || true
  fail 'no device has cooperative matrices'
fi
