# bash completion for cowbox. The candidates come from `cowbox __complete`; nothing of them is ever evaluated.

_cowbox() {
    local kind= value
    COMPREPLY=()
    {
        read -r kind
        while IFS=$'\t' read -r value _; do
            COMPREPLY+=("$value")
        done
    } < <(command cowbox __complete bash "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    case $kind in
    paths)
        # bash quotes what is special in names.
        compopt -o filenames
        if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace; fi
        ;;
    files) compopt -o default ;;
    dirs) compopt -o dirnames ;;
    command)
        compopt -o default
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        ;;
    esac
} && complete -F _cowbox cowbox
