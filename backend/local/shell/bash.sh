# Shell integration for bash 3.2 and later: marks in the prompts.
#
# Go puts assignments of __ptykeep_* variables in front of this text. They stay
# unexported, and the prompts only refer to them: a PS1 that is exported would
# carry the nonce into every child otherwise, and a nested bash that inherits
# it expands it to nothing.

# Started with --posix only so that bash reads this file by ENV and nothing
# else. (In POSIX mode the default of HISTFILE is another.)
if [ -n "$__ptykeep_unposix" ]; then
	set +o posix
	case ${HISTFILE-} in */.sh_history) HISTFILE=${HISTFILE%/*}/.bash_history ;; esac
fi
if [ -n "$__ptykeep_byenv" ]; then
	unset ENV
	if [ -n "${__ptykeep_env+x}" ]; then export ENV="$__ptykeep_env"; fi
fi

# The start-up files run like a command: what they print is output. That they
# are marked tells the reader that commands will be, too; before 4.4 there is no
# PS0 to do it.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
	\builtin printf '\e]6973;%s;C;%s\a' "$__ptykeep_nonce" "$$" 2>/dev/null >/dev/tty || :
fi

# The marks as prompt text. $? and the rest are expanded when the prompt is
# drawn, so that they are right whatever ran before. The / drops the whole
# directory when a control character in it could end the mark (## would try each
# prefix, 0.1 ms in a deep directory); the + is for set -u after unset PWD.
__ptykeep_m='${__ptykeep_nonce:+\e]6973;$__ptykeep_nonce;'
__ptykeep_d='\['$__ptykeep_m'D;$?;$$;${PWD+${PWD/*[[:cntrl:]]*/}}\a}\]'
__ptykeep_b='\['$__ptykeep_m'B;$$\a}\]'
__ptykeep_p='\['$__ptykeep_m'P;$$\a}\]'
# PS0 is printed as it is, not through readline, which would take \[ out.
__ptykeep_c=$__ptykeep_m'C;$$\a}'
unset __ptykeep_m

# A function that the user's PROMPT_COMMAND inherits by export must do nothing
# where it is not defined. The redirections keep set -x, and what a DEBUG trap
# prints about us, out of the output of the command before.
__ptykeep_hook='{ [ -z "${__ptykeep_nonce-}" ] || __ptykeep_prompt; } >/dev/null 2>&1'

# What the user's own PROMPT_COMMAND prints is no output of a command, so the
# command ends before it runs: this stands in front of it, as an element of its
# own where PROMPT_COMMAND can have several, because bash restores $?, $_ and
# PIPESTATUS between elements. Where the function is not defined it expands to
# nothing.
__ptykeep_front='{ ${__ptykeep_nonce:+__ptykeep_end}; } >/dev/null 2>&1'

# __ptykeep_end says that the command has ended. To the terminal, because exec
# may have sent the outputs elsewhere. PS1 says it again, for the case that this
# was overwritten. The status is for a hook of the user in the same element (bash
# before 5.1, where PIPESTATUS is lost to it); set -e would end the shell by it.
__ptykeep_end() {
	local s=$? dir=${PWD-}
	case $dir in *[[:cntrl:]]*) dir= ;; esac
	{ \builtin printf '\e]6973;%s;D;%s;%s;%s\a' "$__ptykeep_nonce" "$s" "$$" "$dir" >/dev/tty; } 2>/dev/null || :
	case $- in *e*) return 0 ;; esac
	return "$s"
}

# __ptykeep_wrap puts the marks around the prompts as they are now. printf -v
# because an assignment to a readonly variable would end the caller.
__ptykeep_wrap() {
	local p1=${PS1-} p2=${PS2-} p0=${PS0-}
	p1=${p1//"$__ptykeep_d"/}
	p1=${p1//"$__ptykeep_b"/}
	p2=${p2//"$__ptykeep_p"/}
	p2=${p2//"$__ptykeep_b"/}
	p0=${p0//"$__ptykeep_c"/}
	# Without promptvars the marks would be shown as text.
	if \builtin shopt -q promptvars; then
		p1=$__ptykeep_d$p1$__ptykeep_b
		p2=$__ptykeep_p$p2$__ptykeep_b
		p0=$p0$__ptykeep_c
	fi
	\builtin printf -v PS1 %s "$p1" || :
	\builtin printf -v PS2 %s "$p2" || :
	# bash 3.2 has no PS0; there the variable is just never looked at.
	\builtin printf -v PS0 %s "$p0" || :
	# An array: under set -a a string would be exported.
	__ptykeep_is=("${PS1-}" "${PS2-}" "${PS0-}")
	return 0
}

# __ptykeep_own sets REPLY to what of the text $1 is the user's.
__ptykeep_own() {
	REPLY=$1
	[[ $REPLY != "$__ptykeep_front" ]] || REPLY=
	REPLY=${REPLY#"$__ptykeep_front"$'\n'}
	REPLY=${REPLY//"$__ptykeep_front"/:}
	REPLY=${REPLY//"$__ptykeep_hook"/}
	REPLY=${REPLY%$'\n'}
}

# __ptykeep_place puts our two hooks to the front and to the end of
# PROMPT_COMMAND, so that the last sees the prompt as the others left it. Of a
# loop over the elements that is under way bash has a copy: a move counts from
# the next prompt on.
__ptykeep_place() {
	local e c REPLY nl=$'\n'
	if [[ $__ptykeep_list ]]; then
		[[ ${PROMPT_COMMAND[@]: -1} != "$__ptykeep_hook" || ${PROMPT_COMMAND[0]-} != "$__ptykeep_front" ]] || return 0
		c=() e=${PROMPT_COMMAND[0]-}
		__ptykeep_own "$e"
		[[ -z $REPLY ]] || c=("$REPLY")
		# PROMPT_COMMAND=x assigns to element 0, where our front stood, and means
		# all of it: the user's text that we had moved from there goes.
		# "x; $PROMPT_COMMAND" has our front in it, and means an addition.
		[[ $e != *"$__ptykeep_front"* ]] || __ptykeep_moved=
		# Of a variable that is no array the slice would be one of characters.
		if [[ ${PROMPT_COMMAND+${PROMPT_COMMAND@a}} == *a* ]]; then
			[[ -z $__ptykeep_moved || ${PROMPT_COMMAND[1]-} != "$__ptykeep_moved" ]] || PROMPT_COMMAND[1]=$__ptykeep_hook
			for e in "${PROMPT_COMMAND[@]:1}"; do
				[[ $e == "$__ptykeep_hook" ]] || c+=("$e")
			done
		fi
		__ptykeep_moved=${c[0]-}
		PROMPT_COMMAND=("$__ptykeep_front" ${c[@]+"${c[@]}"} "$__ptykeep_hook")
		return 0
	fi
	[[ ${PROMPT_COMMAND-} != "$__ptykeep_front"*"$__ptykeep_hook" ]] || return 0
	__ptykeep_own "${PROMPT_COMMAND-}"
	PROMPT_COMMAND=$__ptykeep_front${REPLY:+$nl$REPLY}$nl$__ptykeep_hook
	return 0
}

# __ptykeep_prompt runs before each prompt. bash itself restores $?, $_ and
# PIPESTATUS around PROMPT_COMMAND. It must not fail: set -e would end the shell.
__ptykeep_prompt() {
	if [[ ${PS1-} != "${__ptykeep_is[0]-}" || ${PS2-} != "${__ptykeep_is[1]-}" ||
		${PS0-} != "${__ptykeep_is[2]-}" ]]; then
		__ptykeep_wrap
	fi
	if [[ $__ptykeep_move ]]; then __ptykeep_place; fi
	return 0
}

# __ptykeep_setup runs once, after the user's files.
__ptykeep_setup() {
	# ! in text is data here.
	\builtin set +H
	# What an agent runs does not belong into the user's history file: history
	# goes where the caller said, or stays in memory, where the arrow keys find it.
	if [[ ${__ptykeep_hist+x} ]]; then
		\builtin printf -v HISTFILE %s "$__ptykeep_hist" || :
	else
		\builtin unset -v HISTFILE || :
	fi
	# A mail notice would stand in the output of whatever ran before it.
	\builtin unset -v MAILCHECK || :
	__ptykeep_wrap
	__ptykeep_move=1 __ptykeep_list= __ptykeep_moved=
	if [[ ${bash_preexec_imported-}${__bp_imported-} ]]; then
		# bash-preexec takes what comes after its own last element for the
		# user's next command, so ours goes among its functions.
		precmd_functions+=(__ptykeep_prompt)
		__ptykeep_move=
		return 0
	fi
	if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
		# readonly: the marks in PS1 alone must do. An exported one stays a
		# string, because bash does not export arrays.
		case ${PROMPT_COMMAND+${PROMPT_COMMAND@a}} in
		*r*) __ptykeep_move= ;;
		*x*) ;;
		*) __ptykeep_list=1 ;;
		esac
	fi
	if [[ $__ptykeep_move ]]; then __ptykeep_place; fi
	return 0
}

# The user's own files, at top level: inside a function their declare would
# make local variables. || : because set -e in them would end the shell with
# whatever status their last command had.
if [ -n "${__ptykeep_a-}" ]; then set -a; fi
case $__ptykeep_files in
rc)
	if [ -r "$__ptykeep_rc" ]; then . "$__ptykeep_rc" || :; fi
	;;
login)
	if [ -r /etc/profile ]; then . /etc/profile || :; fi
	if [ -r ~/.bash_profile ]; then
		. ~/.bash_profile || :
	elif [ -r ~/.bash_login ]; then
		. ~/.bash_login || :
	elif [ -r ~/.profile ]; then
		. ~/.profile || :
	fi
	;;
profile)
	if [ -r /etc/profile ]; then . /etc/profile || :; fi
	if [ -r ~/.profile ]; then . ~/.profile || :; fi
	;;
esac
case $__ptykeep_files in
env | profile)
	# POSIX: the value of ENV is subject to parameter expansion.
	__ptykeep_env=${ENV-}
	case $__ptykeep_env in
	*\"*) ;;
	*) eval "__ptykeep_env=\"$__ptykeep_env\"" ;;
	esac
	if [ -r "$__ptykeep_env" ]; then . "$__ptykeep_env" || :; fi
	;;
esac
{
	__ptykeep_a=
	case $- in *a*) __ptykeep_a=1 && \builtin set +a ;; esac
	__ptykeep_setup
	\builtin unset -f __ptykeep_setup
	case $__ptykeep_a in 1) \builtin set -a ;; esac
	\builtin unset -v __ptykeep_a __ptykeep_files __ptykeep_rc __ptykeep_hist __ptykeep_env __ptykeep_byenv __ptykeep_unposix
} 2>/dev/null
# So that $_ shows nothing of ours.
:
