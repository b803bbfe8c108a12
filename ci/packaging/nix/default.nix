# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
#
# From the release archive:
#   nix-build ci/packaging/nix --arg archive ./weft-0.1.0-linux-x86_64.tar.xz

{ pkgs ? import <nixpkgs> { }, archive, version ? "0.1.0" }:

pkgs.stdenv.mkDerivation {
  pname = "weft-vulkan";
  inherit version;
  src = archive;

  # The libraries find glibc's and GCC's by their paths in the store.
  nativeBuildInputs = [ pkgs.autoPatchelfHook ];
  buildInputs = [ pkgs.stdenv.cc.cc.lib ];
  dontConfigure = true;
  dontBuild = true;
  dontStrip = true;

  installPhase = ''
    mkdir -p $out
    cp -r bin lib share $out
    mkdir -p $out/share/licenses/weft-vulkan
    cp -r licenses/. $out/share/licenses/weft-vulkan
  '';

  # weft-run opens the loader by its name.
  postFixup = ''
    patchelf --add-rpath ${pkgs.vulkan-loader}/lib $out/bin/weft-run
  '';

  meta = {
    description = "Vulkan driver for the CPU and Vulkan layer, with cooperative matrices";
    license = pkgs.lib.licenses.mit;
    platforms = [ "x86_64-linux" ];
    mainProgram = "weft-run";
  };
}
