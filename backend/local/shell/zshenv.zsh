# Shell integration for zsh: our ZDOTDIR/.zshenv.
#
# Go puts assignments of __ptykeep_* variables in front of this text; allexport
# is off here. This is the first file that zsh reads from ZDOTDIR, and the only
# one of ours: it gives ZDOTDIR its own value back, so that all further files,
# the system's included (which put .zcompdump and HISTFILE there), are read as
# without us, and leaves hooks that finish the work at the first prompt.

if [[ -n ${__ptykeep_zdotdir+x} ]]; then
	export ZDOTDIR=$__ptykeep_zdotdir
else
	unset ZDOTDIR
fi
unset __ptykeep_zdotdir

# In the functions below: emulate because the user's options are unknown, the
# redirection of a block because it keeps set -x out of the output, if instead
# of && because setopt err_exit must find no failed command.

# __ptykeep_put writes a mark to the terminal itself: stdout may be a file.
__ptykeep_put() {
	print -rn -- $'\e]6973;'"$__ptykeep_nonce;$1"$'\a' >|$TTY
}

# __ptykeep_precmd is D. Each hook function gets the $? of the command,
# wherever it stands; this one is first so that what the others print does not
# look like output of the command.
__ptykeep_precmd() {
	{
		local ret=${1:-$?}
		emulate -L zsh
		unsetopt xtrace
		local cwd=$PWD told=$ret
		if [[ $cwd == *[[:cntrl:]]* ]]; then cwd=; fi
		# A line that zsh refuses leaves a status that is not 0 as it was:
		# then nobody knows.
		if [[ -z ${__ptykeep_ran-} && $ret == ${__ptykeep_last-} ]]; then told=; fi
		typeset -g __ptykeep_last=$ret __ptykeep_ran=
		__ptykeep_put "D;$told;$$;$cwd"
		__ptykeep_order
	} 2>/dev/null
	return 0
}

# __ptykeep_preexec is C, last for the same reason.
__ptykeep_preexec() {
	{
		emulate -L zsh
		unsetopt xtrace
		typeset -g __ptykeep_ran=1
		__ptykeep_put "C;$$"
	} 2>/dev/null
	return 0
}

# __ptykeep_line_init is B, and P where a command goes on: zle-line-init runs
# for both, before the prompt is on the screen. zle -R draws it.
__ptykeep_line_init() {
	{
		emulate -L zsh
		unsetopt xtrace
		case ${__ptykeep_inside-}$CONTEXT in
		start) zle -R; __ptykeep_put "B;$$" ;;
		cont) __ptykeep_put "P;$$"; zle -R; __ptykeep_put "B;$$" ;;
		esac
	} 2>/dev/null
	return 0
}

# __ptykeep_line_chain is the widget where the user has one too. It does what
# add-zle-hook-widget is for, which under emulate sh fails with a message at
# each prompt (5.9). The user's widget may call ours in turn: not a second time.
__ptykeep_line_chain() {
	__ptykeep_line_init
	if [[ -z ${__ptykeep_inside-} ]]; then
		local __ptykeep_inside=1
		zle __ptykeep_user_line_init "$@"
	fi
	return 0
}

# __ptykeep_order puts our hooks back into their places.
__ptykeep_order() {
	if [[ ${precmd_functions[1]-} != __ptykeep_precmd ]]; then
		precmd_functions=(__ptykeep_precmd ${precmd_functions:#__ptykeep_*})
	fi
	if [[ ${preexec_functions[-1]-} != __ptykeep_preexec ]]; then
		preexec_functions=(${preexec_functions:#__ptykeep_*} __ptykeep_preexec)
	fi
	case ${widgets[zle-line-init]-} in
	user:__ptykeep_line_*) ;;
	"") zle -N zle-line-init __ptykeep_line_init ;;
	*)
		zle -A zle-line-init __ptykeep_user_line_init
		zle -N zle-line-init __ptykeep_line_chain
		;;
	esac
}

# __ptykeep_setup runs once, when all of the user's files were read: at the
# first prompt, or, if they replaced precmd_functions, at the first command.
__ptykeep_setup() {
	{
		local ret=$?
		# ! in text is data here. The mark of PROMPT_SP for output without a
		# final newline would look like output, and the CR alone would have
		# the prompt written over that output.
		setopt no_bang_hist no_prompt_sp no_prompt_cr
		# What an agent runs does not belong into the user's history file:
		# history goes where the caller said, or stays in memory.
		if [[ -n ${__ptykeep_hist+x} ]]; then
			HISTFILE=$__ptykeep_hist
		else
			unset HISTFILE
		fi
		unset __ptykeep_hist
		unfunction __ptykeep_setup
		__ptykeep_precmd $ret
	} 2>/dev/null
	return 0
}
# Once more in __ptykeep_setup; here for the first prompt.
setopt no_prompt_sp
precmd_functions+=(__ptykeep_setup)
preexec_functions+=(__ptykeep_setup)
# The start-up files run like a command: what they print is output.
{ __ptykeep_put "C;$$" } 2>/dev/null

if [[ -n ${__ptykeep_norcs-} ]]; then
	# zsh -f, with which zsh would not have read this file.
	setopt no_rcs
	unset __ptykeep_norcs
	if [[ -n ${__ptykeep_a-} ]]; then unset __ptykeep_a; setopt all_export; fi
else
	unset __ptykeep_norcs
	if [[ -n ${__ptykeep_a-} ]]; then unset __ptykeep_a; setopt all_export; fi
	# Last, for a file that fails must not take anything of ours with it.
	if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
		source ${ZDOTDIR-$HOME}/.zshenv
	fi
fi
