# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

complete -c weft-run -f -a '(__fish_complete_subcommand)'
complete -c weft-run -l cpu -d 'The CPU device alone'
complete -c weft-run -l add -d 'The CPU device beside the own devices of the machine'
complete -c weft-run -l layer -d 'The own devices of the machine, with the layer'
complete -c weft-run -x -l profile -d 'The matrices of a vendor' -a 'none nvidia nvidia+identity amd amd+identity intel intel+identity apple apple+identity lavapipe'
complete -c weft-run -l gpu -d 'The CPU device presents itself as an integrated GPU'
complete -c weft-run -l log -d 'Messages on stderr'
complete -c weft-run -l info -d 'The devices and their matrices'
complete -c weft-run -l json -d '--info for scripts'
complete -c weft-run -l env -d 'The variables, for a shell'
complete -c weft-run -x -l describe-driver -d 'The capabilities of the driver as JSON'
complete -c weft-run -s h -l help -d 'The options'
complete -c weft-run -l version -d 'The version'
