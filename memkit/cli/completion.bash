%(complete_func)s() {
    local line type value
    COMPREPLY=()
    while IFS=$'\t' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env MEMKIT_LINE="${COMP_LINE:0:COMP_POINT}" MEMKIT_WORD="${COMP_WORDS[COMP_CWORD]}" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
