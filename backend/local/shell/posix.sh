# Shell integration for dash, ash, ksh and their like: marks in the prompts.
#
# Go puts assignments of __ptykeep_* variables in front of this text; allexport
# is off here. The prompts only refer to them: a PS1 that is exported would
# carry the nonce into every child otherwise, and a nested shell that inherits
# it expands it to nothing. These shells have no hook: a PS1 that is replaced
# later has lost its marks. Nor do they tell when a command starts (no C).

if [ -n "${__ptykeep_env+x}" ]; then
	export ENV="$__ptykeep_env"
else
	unset ENV
fi

# The user's files, in the order of a login shell. || : because set -e in them
# would end the shell with whatever status their last command had.
if [ -n "${__ptykeep_a-}" ]; then set -a; fi
if [ -n "$__ptykeep_login" ]; then
	if [ -r /etc/profile ]; then . /etc/profile || :; fi
	if [ -r "$HOME/.profile" ]; then . "$HOME/.profile" || :; fi
fi
if [ -n "${ENV-}" ]; then
	# POSIX: the value is subject to parameter expansion.
	__ptykeep_env=$ENV
	case $__ptykeep_env in
	*\"*) ;;
	*) eval "__ptykeep_env=\"$__ptykeep_env\"" ;;
	esac
else
	case ${KSH_VERSION-} in
	*MIRBSD* | *LEGACY*) __ptykeep_env=$HOME/.mkshrc ;;
	?*) __ptykeep_env=$HOME/.kshrc ;;
	*) __ptykeep_env= ;;
	esac
fi
if [ -r "$__ptykeep_env" ]; then . "$__ptykeep_env" || :; fi
case $- in *a*) __ptykeep_a=1; set +a ;; *) __ptykeep_a= ;; esac

# What an agent runs does not belong into the user's history file: history
# goes where the caller said, or stays in memory.
if [ -n "${__ptykeep_hist+x}" ]; then
	HISTFILE=$__ptykeep_hist
else
	unset HISTFILE
	# ksh93 would take ~/.sh_history.
	case ${KSH_VERSION-} in *93*) HISTFILE=/dev/null ;; esac
fi
unset MAILCHECK

# __ptykeep_l and _r stand around a mark, so that the shell's line editor does
# not count it. (busybox cannot be told by its variables: Go has set them.)
case ${BASH_VERSION:+bash}${KSH_VERSION-} in
bash*)
	__ptykeep_l='\[' __ptykeep_r='\]'
	set +o histexpand
	;;
*MIRBSD* | *LEGACY*)
	# mksh takes the first character of PS1 for a bracket if a CR follows.
	case ${PS1-} in
	?"$__ptykeep_cr"*) __ptykeep_l=${PS1%%"$__ptykeep_cr"*} PS1=${PS1#?"$__ptykeep_cr"} ;;
	*) __ptykeep_l=$__ptykeep_soh ;;
	esac
	__ptykeep_r=$__ptykeep_l
	;;
esac
# Expanded when the prompt is drawn. The ## drops the whole directory when it
# holds a control character, which could end the mark, or ! and \, which some
# of these shells replace after the expansion.
__ptykeep_m=$__ptykeep_l'${__ptykeep_nonce:+'$__ptykeep_esc']6973;$__ptykeep_nonce;'
__ptykeep_d=$__ptykeep_m'D;$?;$$;${PWD+${PWD##*[[:cntrl:]!!\\]*}}'$__ptykeep_bel'}'$__ptykeep_r
__ptykeep_b=$__ptykeep_m'B;$$'$__ptykeep_bel'}'$__ptykeep_r
__ptykeep_p=$__ptykeep_m'P;$$'$__ptykeep_bel'}'$__ptykeep_r
# ksh93 gives PS1 its default only after this file.
PS1=$__ptykeep_d${PS1-$__ptykeep_ps1}$__ptykeep_b
case ${KSH_VERSION-} in
*MIRBSD* | *LEGACY*) PS1=$__ptykeep_l$__ptykeep_cr$PS1 ;;
?*) ;;
*) PS2=$__ptykeep_p${PS2-"> "}$__ptykeep_b ;; # not expanded by ksh
esac
if [ -n "$__ptykeep_a" ]; then set -a; fi
unset __ptykeep_a __ptykeep_env __ptykeep_login __ptykeep_hist __ptykeep_l __ptykeep_r __ptykeep_m \
	__ptykeep_d __ptykeep_b __ptykeep_p __ptykeep_esc __ptykeep_bel __ptykeep_soh __ptykeep_cr __ptykeep_ps1
:
