# Shell integration for fish 3.0 and later: event functions.
#
# Go puts assignments of __ptykeep_* variables in front of this text. fish runs
# it after the user's configuration.

# What an agent runs does not belong into the user's history: an empty name
# keeps it in memory. A name from the environment was chosen by the caller.
if not set -q fish_history; or not set -qx fish_history
    set -g fish_history ''
end

function __ptykeep_put
    printf '\e]6973;%s;%s\a' $__ptykeep_nonce $argv[1]
end

# D after a command comes at once: before the prompt fish marks output without
# a final newline with an arrow and a line of blanks, which are no output.
function __ptykeep_postexec --on-event fish_postexec
    set -l ret $status
    __ptykeep_end $ret
    set -g __ptykeep_ended
end

# D where no command ran, and B. fish has no event between the prompt's text and
# the reading of the line, and a fish_prompt wrapped by us would break the venvs
# that wrap it again, so B comes before the text: it says that the shell is
# about to read, the kernel probe decides when it does.
function __ptykeep_prompt --on-event fish_prompt
    set -l ret $status
    set -q __ptykeep_ended; or __ptykeep_end $ret
    set -e __ptykeep_ended
    __ptykeep_put "B;$fish_pid"
end

function __ptykeep_end
    set -l cwd $PWD
    string match -qr '[[:cntrl:]]' -- "$cwd"; and set cwd ''
    __ptykeep_put "D;$argv[1];$fish_pid;$cwd"
end

# Blank lines and comments are no command: they leave the status as it was.
function __ptykeep_preexec --on-event fish_preexec
    string match -qrv '^\s*(#|$)' -- (string split \n -- "$argv[1]")
    and __ptykeep_put "C;$fish_pid"
end

# A tab in a paste is data; fish would drop it.
bind -M paste \t 'commandline -i \t'

# That commands will be marked.
__ptykeep_put "C;$fish_pid"
