# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

_weftc() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} values= files=
  # The shell splits --emit=nir into three words.
  [[ $word = = ]] && word=
  [[ $before = = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  case $before in
    --emit) values='nir passes accesses llvm asm spirv spirv-text map register-map plan' ;;
    --path) values='tiles registers spirv-tiles spirv-registers' ;;
    --compare) values='all tiles registers spirv-tiles spirv-registers' ;;
    --reference) values='tiles registers spirv-tiles spirv-registers' ;;
    --subgroup-size) values='8 16 32 64' ;;
    --isa) values='avx2 avx512' ;;
    --target) values='cpu layer' ;;
    --driver) values='full lavapipe nvidia'; files=1 ;;
    --spirv-version) values='1.3 1.4 1.5 1.6' ;;
    --buffer | --push | --workgroups | --seed | --tolerance | --save | --timeout | --entry | \
      --spec | --native | --stop-after | --skip | --pass-limit) return ;;
  esac
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" ${files:+-f} -- "$word")
  elif [[ $word = -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--emit --stats --run --path --compare --buffer --push
      --workgroups --seed
      --tolerance --save --timeout --bisect --reference --entry --spec
      --subgroup-size --registers --isa --target --driver --native
      --spirv-version --robust --no-robust --stop-after --skip --pass-limit
      --output --help --version' -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _weftc -o filenames weftc
