package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// homeShown are the dot files and directories of a home that tools need to run.
// All others are hidden: most programs keep their credentials in one, and
// shell start-up files export keys. Names without a dot are shown.
var homeShown = []string{
	".asdf", ".bun/bin", ".cabal/bin", ".cargo", ".config/git", ".config/go", ".deno/bin", ".dotnet",
	".elan", ".fnm", ".foundry/bin", ".gem", ".ghcup", ".git", ".gitattributes", ".gitconfig", ".github",
	".gitignore", ".gitignore_global", ".goenv", ".gradle", ".inputrc", ".jenv", ".julia", ".juliaup",
	".local/bin", ".local/lib", ".local/share/fnm", ".local/share/man", ".local/share/mise",
	".local/share/pipx", ".local/share/pnpm", ".local/share/uv", ".local/share/virtualenv",
	".local/share/virtualenvs", ".m2", ".nix-profile", ".nodenv", ".nuget/packages", ".nvm", ".opam",
	".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman", ".stack/programs", ".tool-versions", ".vimrc", ".volta",
}

// homeSecrets are secrets inside the paths of homeShown, or without a dot.
var homeSecrets = []string{
	".cargo/credentials", ".cargo/credentials.toml", ".config/git/credentials", ".gem/credentials",
	".gradle/gradle.properties", ".m2/settings.xml", ".m2/settings-security.xml", "snap",
}

// systemSecrets are hidden wherever they exist; an ordinary user could not
// read most of them, but root could.
var systemSecrets = []string{
	"/boot", "/etc/NetworkManager/system-connections", "/etc/docker", "/etc/gshadow", "/etc/gshadow-",
	"/etc/krb5.keytab", "/etc/kubernetes", "/etc/machine-id", "/etc/openvpn", "/etc/rancher", "/etc/shadow",
	"/etc/shadow-", "/etc/ssl/private", "/etc/sudoers", "/etc/sudoers.d", "/etc/wireguard",
	"/var/cache/sssd", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/kubelet",
	"/var/lib/private", "/var/lib/rancher", "/var/lib/sss", "/var/lib/systemd", "/var/mail", "/var/spool",
	"/sys/firmware", "/sys/fs/bpf", "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing",
}

// privateDirs are replaced by empty writable ones.
var privateDirs = []string{"/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm"}

// coveredDirs are replaced by empty read-only ones, in which the own home and
// the workspace reappear.
var coveredDirs = []string{"/home", "/root"}

// exposed are paths inside private or covered directories that are needed and hold
// no secrets.
var exposed = []string{"/home/linuxbrew", "/run/current-system"}

// within reports whether path is dir or lies beneath it; both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// resolve follows the symbolic links in path, as far as it exists.
func resolve(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolve(dir), filepath.Base(path))
	}
	return path
}

// splitHome walks home along homeShown and returns the shown and the hidden paths,
// relative to home and as few as possible.
func splitHome(home string) (shown, hidden []string) {
	var walk func(rel string)
	walk = func(rel string) {
		entries, err := os.ReadDir(filepath.Join(home, rel))
		if err != nil {
			return // unreadable for the user is unreadable inside
		}
		for _, e := range entries {
			path := filepath.Join(rel, e.Name())
			switch {
			case slices.Contains(homeSecrets, path):
				hidden = append(hidden, path)
			case rel == "" && !strings.HasPrefix(path, "."), slices.Contains(homeShown, path):
				shown = append(shown, path)
			case slices.ContainsFunc(homeShown, func(s string) bool { return within(s, path) }):
				walk(path)
			default:
				hidden = append(hidden, path)
			}
		}
	}
	walk("")
	return shown, hidden
}

// hiddenPaths returns everything to hide, links resolved, sorted so that a
// directory comes before what is in it.
func hiddenPaths(home string, more []string) []string {
	all := slices.Concat(systemSecrets, more)
	keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key") // the pattern is well formed
	all = append(all, keys...)
	if home != "" {
		_, hidden := splitHome(home)
		for _, h := range slices.Concat(hidden, homeSecrets) {
			all = append(all, filepath.Join(home, h))
		}
	}
	for i, p := range all {
		all[i] = resolve(p)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(p string) bool {
		_, err := os.Lstat(p)
		return err != nil || p == "/" || p == home
	})
}
