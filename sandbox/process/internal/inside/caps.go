package inside

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Bits of PR_SET_SECUREBITS, see capabilities(7).
const (
	secureNoRoot                      = 1 << 0
	secureNoRootLocked                = 1 << 1
	secureNoSetuidFixup               = 1 << 2
	secureNoSetuidFixupLocked         = 1 << 3
	secureNoAmbientRaise              = 1 << 6
	secureNoAmbientRaiseLocked        = 1 << 7
	secureLocked                      = secureNoRootLocked | secureNoSetuidFixupLocked | secureNoAmbientRaiseLocked
	secureNothingForRoot              = secureNoRoot | secureNoSetuidFixup | secureNoAmbientRaise | secureLocked
	secureBoundedRoot                 = secureNoAmbientRaise | secureNoAmbientRaiseLocked
	capabilityVersion3         uint32 = unix.LINUX_CAPABILITY_VERSION_3
)

// dropCapabilities leaves this thread, and all it executes, with at most the
// capabilities in keep, which only root has a use for.
func dropCapabilities(keep []uintptr) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var data [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: capabilityVersion3}
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	if data[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); ; c++ {
			if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil {
				break // beyond the kernel's last capability
			}
			if slices.Contains(keep, c) {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return err
			}
		}
		bits := uintptr(secureNothingForRoot)
		if len(keep) > 0 {
			bits = secureBoundedRoot
		}
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, bits, 0, 0, 0); err != nil {
			return err
		}
	}
	var kept uint32
	for _, c := range keep {
		kept |= 1 << c
	}
	had := data[0].Permitted
	data = [2]unix.CapUserData{{Effective: kept & had, Permitted: kept & had}}
	return unix.Capset(&hdr, &data[0])
}
