# SPDX-License-Identifier: Apache-2.0
# bash completion of forkflame(1)

_forkflame() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local view="-o --output -f --format -ff --mode --counts --tree --thread
		--since --until --include --exclude --by -t --threads
		--merge-workers -F --function --file -i --idle --no-idle
		-g --gil --title --source --rows --color -q --quiet -h --help
		--version -p --pid"
	local which="-p --pid -a --all --no-children --depth --user --exe
		--include-command --exclude-command"
	local formats="html flamegraph svg collapsed folded speedscope pprof
		firefox chrome callgrind pstats jsonl flamechart table"
	local i

	COMPREPLY=()
	# COMP_WORDBREAKS may have cut "--mode=cpu" in three.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "record report dump tree check --help
			--version" -- "$cur"))
		return
	fi
	case $prev in
	-f | --format)
		[[ ${COMP_WORDS[1]} == rec* ]] && formats+=" ff"
		COMPREPLY=($(compgen -W "$formats" -- "$cur"))
		return
		;;
	--mode)
		COMPREPLY=($(compgen -W "wall cpu gil samples" -- "$cur"))
		return
		;;
	--by)
		COMPREPLY=($(compgen -W "process thread role all" -- "$cur"))
		return
		;;
	--color)
		COMPREPLY=($(compgen -W "auto always never" -- "$cur"))
		return
		;;
	--events)
		COMPREPLY=($(compgen -W "auto connector perf children scan" -- "$cur"))
		return
		;;
	--oncpu)
		COMPREPLY=($(compgen -W "auto switches runcounts" -- "$cur"))
		return
		;;
	--sampler)
		COMPREPLY=($(compgen -W "auto stop kernel" -- "$cur"))
		return
		;;
	--samplers)
		COMPREPLY=($(compgen -W "auto 1" -- "$cur"))
		return
		;;
	-p | --pid)
		if [[ ${COMP_WORDS[1]} != rep* ]]; then
			COMPREPLY=($(cd /proc && compgen -G '[0-9]*' |
				grep -E "^$cur" 2>/dev/null))
			return
		fi
		return
		;;
	--user)
		COMPREPLY=($(compgen -u -- "$cur"))
		return
		;;
	-o | --output | --stats | --diff | --exe)
		COMPREPLY=($(compgen -f -- "$cur"))
		return
		;;
	-d | --duration | -r | --rate | --rotate | --tree | --thread | \
		--since | --until | --include | --exclude | --title | --rows | \
		--depth | --include-command | --exclude-command)
		return
		;;
	esac
	# Behind the command, its own completion.
	if [[ ${COMP_WORDS[1]} == rec* || ${COMP_WORDS[1]} == t* ]]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == -- ]] || continue
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				COMPREPLY=($(compgen -c -f -- "$cur"))
			fi
			return
		done
	fi
	case ${COMP_WORDS[1]} in
	d*) COMPREPLY=($(compgen -W "$which -o --output --json -q --quiet
		-h --help" -- "$cur")) ;;
	t*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$which -d --duration --events
				-o --output --json -q --quiet -h --help --" -- "$cur"))
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi
		;;
	c*) COMPREPLY=($(compgen -W "-h --help --version" -- "$cur")) ;;
	rep*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$view --diff" -- "$cur"))
		else
			COMPREPLY=($(compgen -f -X '!*.ff' -- "$cur")
				$(compgen -d -- "$cur"))
		fi
		;;
	r*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$view $which -d --duration -r --rate
				--max-overhead --rotate --events --event-buffer --oncpu
				--sampler --samplers --stats --nonblocking --" -- "$cur"))
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi
		;;
	esac
}

complete -o filenames -F _forkflame forkflame
