# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

complete -c weftc -l emit -d 'The stage to show' -x -a 'nir passes accesses llvm asm spirv spirv-text map register-map plan'
complete -c weftc -l stats -d 'Statistics as JSON'
complete -c weftc -l run -d 'Run the shader, without Vulkan'
complete -c weftc -l path -d 'The compilation path' -x -a 'tiles registers spirv-tiles spirv-registers'
complete -c weftc -l compare -d 'Also run these paths and compare' -x -a 'all tiles registers spirv-tiles spirv-registers'
complete -c weftc -l buffer -d 'SET.BINDING=FILE, random:N or zero:N' -x
complete -c weftc -l push -d 'Push constants' -x
complete -c weftc -l workgroups -d 'The number of workgroups, X,Y,Z' -x
complete -c weftc -l seed -d 'The seed of random contents' -x
complete -c weftc -l tolerance -d 'The largest relative difference of floats' -x
complete -c weftc -l save -d 'SET.BINDING=FILE for final contents' -x
complete -c weftc -l timeout -d 'Seconds for each path' -x
complete -c weftc -l bisect -d 'Find the pass that breaks the shader'
complete -c weftc -l reference -d 'The path with the right results' -x -a 'tiles registers spirv-tiles spirv-registers'
complete -c weftc -l entry -d 'The entry point' -x
complete -c weftc -l spec -d 'ID=VALUE of a specialization constant' -x
complete -c weftc -l subgroup-size -d 'Invocations of a subgroup' -x -a '8 16 32 64'
complete -c weftc -l registers -d 'Lower matrices to registers'
complete -c weftc -l isa -d 'The highest instruction set to use' -x -a 'avx2 avx512'
complete -c weftc -l target -d 'The compiler whose stages are shown' -x -a 'cpu layer'
complete -c weftc -l driver -d 'The driver below the layer' -r -a 'full lavapipe nvidia'
complete -c weftc -l native -d 'A shape MxNxK of the driver' -x
complete -c weftc -l spirv-version -d 'The newest version that the driver accepts' -x -a '1.3 1.4 1.5 1.6'
complete -c weftc -l robust -d 'Check accesses against bounds of buffers'
complete -c weftc -l no-robust -d 'Do not check accesses'
complete -c weftc -l stop-after -d 'Show NIR after this pass' -x
complete -c weftc -l skip -d 'Skip an optional pass' -x
complete -c weftc -l pass-limit -d 'Run only the first N optional passes' -x
complete -c weftc -s o -l output -d 'The file to write' -r
complete -c weftc -s h -l help -d 'The options'
complete -c weftc -l version -d 'The version'
