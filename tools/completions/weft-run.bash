# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

_weft_run() {
  local word=${COMP_WORDS[COMP_CWORD]} i
  # Behind the program everything is the program's.
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --profile | --describe-driver) ((i++)) ;;
      --) ((i++)); break ;;
      -*) ;;
      *) break ;;
    esac
  done
  if ((i < COMP_CWORD)); then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$i"
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} = --profile ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'none nvidia nvidia+identity amd amd+identity intel
      intel+identity apple apple+identity lavapipe' -- "$word")
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} = --describe-driver ]]; then
    return
  elif [[ $word = -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--cpu --add --layer --profile --gpu --log --info --json --env
      --describe-driver --help --version' -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}
complete -F _weft_run -o default weft-run
