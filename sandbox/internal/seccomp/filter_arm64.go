package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// refusedHere are refused calls that only this architecture has.
var refusedHere []int

// modeArgsHere are calls with modes that only this architecture has.
var modeArgsHere []modeArg
