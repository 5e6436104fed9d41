package spool

import (
	"errors"
	"runtime/debug"
	"unsafe"
)

// errFault reports that mapped memory could not be reached.
var errFault = errors.New("page fault: the file was cut, or the disk failed")

// faultless calls access, which touches mapped memory, and turns a page fault
// there into errFault. Without it the fault would end the process. A fault
// elsewhere stays a panic.
func faultless(mapped []byte, access func()) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		start := uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))
		fault, ok := v.(interface{ Addr() uintptr })
		if !ok || fault.Addr() < start || fault.Addr() >= start+uintptr(len(mapped)) {
			panic(v)
		}
		err = errFault
	}()
	access()
	return nil
}
