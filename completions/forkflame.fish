# SPDX-License-Identifier: Apache-2.0
# fish completion of forkflame(1)

function __forkflame_in
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

complete -c forkflame -f
complete -c forkflame -n 'test (count (commandline -opc)) -eq 1' -a 'record' -d 'profile a command or processes'
complete -c forkflame -n 'test (count (commandline -opc)) -eq 1' -a 'report' -d 'make views of recordings'
complete -c forkflame -n 'test (count (commandline -opc)) -eq 1' -a 'dump' -d 'every stack, now'
complete -c forkflame -n 'test (count (commandline -opc)) -eq 1' -a 'tree' -d 'births, programs and ends'
complete -c forkflame -n 'test (count (commandline -opc)) -eq 1' -a 'check' -d 'what this machine offers'
complete -c forkflame -s h -l help -d 'help'
complete -c forkflame -l version -d 'version'

# record, dump
complete -c forkflame -n '__forkflame_in record dump tree' -s p -l pid -x -a '(__fish_complete_pids)' -d 'a running process'
complete -c forkflame -n '__forkflame_in record dump tree' -s a -l all -d 'every Python of the machine'
complete -c forkflame -n '__forkflame_in record dump tree' -l no-children -d 'no descendants'
complete -c forkflame -n '__forkflame_in record dump tree' -l depth -x -d 'so many generations of descendants'
complete -c forkflame -n '__forkflame_in record dump tree' -l user -x -a '(__fish_complete_users)' -d 'only processes of this user'
complete -c forkflame -n '__forkflame_in record dump tree' -l exe -r -F -d 'only processes that run this file'
complete -c forkflame -n '__forkflame_in record dump tree' -l include-command -x -d 'only fitting command lines'
complete -c forkflame -n '__forkflame_in record dump tree' -l exclude-command -x -d 'only command lines that do not fit'
complete -c forkflame -n '__forkflame_in record tree' -s d -l duration -x -d 'for so long, in seconds'
complete -c forkflame -n '__forkflame_in record' -s r -l rate -x -d 'samples a second'
complete -c forkflame -n '__forkflame_in record' -l max-overhead -x -d 'percent of a core'
complete -c forkflame -n '__forkflame_in record' -l rotate -x -d 'begin another recording'
complete -c forkflame -n '__forkflame_in record tree' -l events -x -a 'auto connector perf children scan' -d 'births and ends from'
complete -c forkflame -n '__forkflame_in record' -l event-buffer -x -d 'what the kernel may queue of them'
complete -c forkflame -n '__forkflame_in record' -l oncpu -x -a 'auto switches runcounts' -d 'who runs from'
complete -c forkflame -n '__forkflame_in record' -l sampler -x -a 'auto stop kernel' -d 'running threads are read by'
complete -c forkflame -n '__forkflame_in record' -l samplers -x -a 'auto 1' -d 'threads that sample, at most'
complete -c forkflame -n '__forkflame_in record' -l nonblocking -d 'stop no thread, ever'
complete -c forkflame -n '__forkflame_in record' -l stats -r -F -d 'the summary as JSON'
complete -c forkflame -n '__forkflame_in record tree' -a '(__fish_complete_subcommand)'
complete -c forkflame -n '__forkflame_in dump tree' -l json -d 'as JSON'

# report
complete -c forkflame -n '__forkflame_in report' -s p -l pid -x -d 'only these processes'
complete -c forkflame -n '__forkflame_in report' -l diff -r -F -d 'compare with this one'
complete -c forkflame -n '__forkflame_in report' -k -a '(__fish_complete_suffix .ff)'

# views
complete -c forkflame -n '__forkflame_in record report dump tree' -s o -l output -r -F -d 'where to write'
complete -c forkflame -n '__forkflame_in record report dump tree' -s q -l quiet -d 'no progress, no summary'
complete -c forkflame -n '__forkflame_in record report' -s f -l format -x -a 'html flamegraph svg collapsed folded speedscope pprof firefox chrome callgrind pstats jsonl flamechart table ff' -d 'format'
complete -c forkflame -n '__forkflame_in record report' -o ff -d 'a file a process'
complete -c forkflame -n '__forkflame_in record report' -l mode -x -a 'wall cpu gil samples' -d 'what weights are'
complete -c forkflame -n '__forkflame_in record report' -l counts -d 'weights are numbers of samples'
complete -c forkflame -n '__forkflame_in record report' -l tree -x -d 'only these and their descendants'
complete -c forkflame -n '__forkflame_in record report' -l thread -x -d 'only threads of this number or name'
complete -c forkflame -n '__forkflame_in record report' -l since -x -d 'only from this time on'
complete -c forkflame -n '__forkflame_in record report' -l until -x -d 'only up to this time'
complete -c forkflame -n '__forkflame_in record report' -l include -x -d 'only stacks with a fitting frame'
complete -c forkflame -n '__forkflame_in record report' -l exclude -x -d 'leave out fitting frames'
complete -c forkflame -n '__forkflame_in record report' -l by -x -a 'process thread role all' -d 'the first level'
complete -c forkflame -n '__forkflame_in record report' -s t -l threads -d 'by thread'
complete -c forkflame -n '__forkflame_in record report' -l merge-workers -d 'equal command lines are one'
complete -c forkflame -n '__forkflame_in record report' -s F -l function -d 'functions instead of lines'
complete -c forkflame -n '__forkflame_in record report' -l file -d 'files instead of functions'
complete -c forkflame -n '__forkflame_in record report' -s i -l idle -d 'with time off a CPU'
complete -c forkflame -n '__forkflame_in record report' -l no-idle -d 'no time off a CPU'
complete -c forkflame -n '__forkflame_in record report' -s g -l gil -d 'only while the lock was held'
complete -c forkflame -n '__forkflame_in record report' -l title -x -d 'of the view'
complete -c forkflame -n '__forkflame_in record report' -l source -d 'show source lines in a page'
complete -c forkflame -n '__forkflame_in record report' -l rows -x -d 'of each table'
complete -c forkflame -n '__forkflame_in record report' -l color -x -a 'auto always never' -d 'of a table'
