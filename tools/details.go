package tools

import (
	"errors"

	"github.com/ptykeep/ptykeep/ptyservice"
)

// addDetails adds to the facts of a failure what programs can use of it.
func addDetails(f *errorFacts, err error) {
	var cleanup *ptyservice.CleanupError
	if errors.As(err, &cleanup) {
		for _, p := range cleanup.Report.Survivors {
			f.Survivors = append(f.Survivors, processFact{PID: p.PID, UID: p.UID, Command: p.Command})
		}
	}
	var stalled *ptyservice.StalledError
	if errors.As(err, &stalled) {
		f.BytesRead, f.Bytes = &stalled.Read, stalled.Total
	}
}
