# bash completion for cowbox. The candidates come from `cowbox __complete`; nothing of them is ever evaluated.

_cowbox() {
    local kind= value number
    COMPREPLY=()
    {
        read -r kind
        while IFS=$'\t' read -r value _; do
            COMPREPLY+=("$value")
        done
    } < <(command cowbox __complete bash "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    case $kind in
    paths)
        if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace; fi
        if [[ ${COMP_WORDS[COMP_CWORD]} == [\'\"]* ]]; then
            # Inside of a quote bash knows best what is special.
            compopt -o filenames
        else
            for number in "${!COMPREPLY[@]}"; do
                printf -v "COMPREPLY[number]" %q "${COMPREPLY[number]}"
            done
        fi
        ;;
    files) compopt -o default ;;
    dirs) compopt -o dirnames ;;
    command)
        compopt -o default
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        ;;
    esac
} && complete -F _cowbox cowbox
