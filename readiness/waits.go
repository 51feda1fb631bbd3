package readiness

// waiting names the state of a group that waits on the terminal for sure.
func waiting(f Facts) (State, Evidence) {
	if s := f.Marks.place(f); s != "" {
		return s, KernelPrompt
	}
	if hidden(f) {
		return WaitingHiddenInput, Kernel
	}
	if f.Row.Known {
		return WaitingInput, KernelPrompt
	}
	return WaitingInput, Kernel
}
