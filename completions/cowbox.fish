# fish completion for cowbox. The candidates come from `cowbox __complete`; nothing of them is ever evaluated.

function __cowbox_complete
    set -l word (commandline --current-token)
    set -l lines (command cowbox __complete fish (commandline --tokenize --cut-at-cursor --current-process) "$word" 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$word"
        case dirs
            __fish_complete_directories "$word"
        case command
            complete --do-complete "$word"
        case words paths
            printf '%s\n' $lines[2..-1]
    end
end

complete --command cowbox --no-files --arguments '(__cowbox_complete)'
