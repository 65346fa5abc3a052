package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/workspacedir"

	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// homeShown are the files and directories of a home that toolchains consist of.
// All else is hidden: other projects, the files in which most programs keep their
// credentials, and start-up files of shells, which export keys.
var homeShown = []string{
	".asdf", ".bun/bin", ".cabal/bin", ".cargo", ".config/git", ".config/go", ".deno/bin", ".dotnet",
	".elan", ".fnm", ".foundry/bin", ".gem", ".ghcup", ".gitconfig", ".gitignore_global", ".goenv", ".gradle",
	".inputrc", ".jenv", ".julia", ".juliaup", ".linuxbrew", ".local/bin", ".local/lib", ".local/share/fnm",
	".local/share/man", ".local/share/mise", ".local/share/pipx", ".local/share/pnpm", ".local/share/uv",
	".local/share/virtualenv", ".local/share/virtualenvs", ".m2", ".nix-profile", ".nodenv", ".nuget/packages",
	".nvm", ".opam", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman", ".stack/programs", ".tool-versions",
	".vimrc", ".volta",
	"Android/Sdk", "anaconda3", "go/bin", "go/pkg", "mambaforge", "micromamba", "miniconda3", "miniforge3", "perl5",
}

// homeSecrets are secrets inside the paths of homeShown.
var homeSecrets = []string{
	".cargo/credentials", ".cargo/credentials.toml", ".config/git/credentials", ".config/go/env", ".config/go/telemetry",
	".dotnet/corefx", ".gem/credentials", ".gradle/gradle.properties", ".gradle/init.d", ".gradle/init.gradle",
	".gradle/init.gradle.kts", ".julia/logs", ".julia/servers", ".local/share/uv/credentials", ".m2/settings.xml",
	".m2/settings-security.xml",
}

// systemSecrets are hidden wherever they exist; an ordinary user could not
// read most of them, but root could.
var systemSecrets = []string{
	"/boot", "/etc/NetworkManager/system-connections", "/etc/docker", "/etc/gshadow", "/etc/gshadow-",
	"/etc/krb5.keytab", "/etc/kubernetes", "/etc/letsencrypt", "/etc/machine-id", "/etc/openvpn", "/etc/rancher", "/etc/shadow",
	"/etc/shadow-", "/etc/ssl/private", "/etc/sudoers", "/etc/sudoers.d", "/etc/wireguard",
	"/var/backups", "/var/cache/sssd", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/kubelet",
	"/var/lib/mysql", "/var/lib/postgresql", "/var/lib/private", "/var/lib/rancher", "/var/lib/redis", "/var/lib/sss",
	"/var/lib/systemd", "/var/log", "/var/mail", "/var/spool", "/var/www",
	"/sys/firmware", "/sys/fs/bpf", "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing",
}

func within(path, dir string) bool { return inside.Within(path, dir) }
func resolve(path string) string   { return inside.Resolve(path) }
func exists(path string) bool      { return inside.Exists(path) }

// systemTop are the directories of the root that hold programs and the system. All
// others hold users' files: they are covered by empty read-only ones, in which the
// own home, the workspace and the granted paths reappear.
var systemTop = []string{
	"bin", "boot", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run", "sbin", "snap",
	"sys", "tmp", "usr", "var",
}

// IsSystemPath reports whether an absolute path lies in the directories of the system,
// which sandboxes show but for secrets, or in those that each sandbox has of its own.
func IsSystemPath(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(systemTop, top)
}

// IsPrivatePath reports whether an absolute path lies in the directories that each sandbox has
// of its own, which show nothing of this machine but a workspace and what is granted.
func IsPrivatePath(path string) bool {
	return slices.ContainsFunc(inside.PrivateDirs, func(dir string) bool { return within(path, dir) })
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
			case slices.Contains(homeShown, path):
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
// directory comes before its content. In a workspace that contains the home,
// everything without a leading dot is the workspace's.
func hiddenPaths(home, workspace string, more []string) []string {
	all := slices.Concat(systemSecrets, more)
	keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key") // the pattern is well formed
	all = append(all, keys...)
	all = append(all, rootFiles()...)
	if home != "" {
		_, hidden := splitHome(home)
		for _, h := range slices.Concat(hidden, homeSecrets) {
			if strings.HasPrefix(h, ".") || !within(home, workspace) {
				all = append(all, filepath.Join(home, h))
			}
		}
	}
	all = slices.DeleteFunc(all, func(p string) bool { // most do not exist: to resolve them takes longer
		_, err := os.Lstat(p)
		return errors.Is(err, fs.ErrNotExist)
	})
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

// rootFiles returns the files in the root, for example swap space.
func rootFiles() (all []string) {
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil // unreadable inside too
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != ".dockerenv" { // programs look for that one
			all = append(all, "/"+e.Name())
		}
	}
	return all
}

// coveredPaths returns the directories of the root that are no part of the system, and the homes
// of all users, links resolved.
func coveredPaths(home string) []string {
	var all []string
	entries, err := os.ReadDir("/")
	if err != nil {
		all = []string{"/home", "/root", "/srv", "/mnt", "/media"} // the root cannot be listed inside either
	}
	for _, e := range entries {
		if !slices.Contains(systemTop, e.Name()) && e.IsDir() {
			all = append(all, "/"+e.Name())
		}
	}
	for _, h := range workspacedir.Homes(home) {
		system := slices.ContainsFunc(systemTop, func(top string) bool {
			return h == "/"+top || within(h, "/"+top) && !slices.Contains([]string{"opt", "tmp", "var"}, top)
		})
		if !system && !slices.ContainsFunc(all, func(dir string) bool { return within(h, dir) }) && exists(h) {
			all = append(all, h)
		}
	}
	slices.Sort(all)
	return all
}

// toolchainVariables name directories of toolchains; the parts are the shown ones, all
// of it without.
var toolchainVariables = map[string][]string{
	"GOMODCACHE": nil, "GOPATH": {"bin", "pkg"}, "GOROOT": nil, "JAVA_HOME": nil, "NVM_DIR": nil, "PYENV_ROOT": nil,
	"RUSTUP_HOME": nil, "CARGO_HOME": {"bin", "git", "registry"},
}

// prefixParts are the directories of an installation beside its programs in "bin" or
// "sbin".
var prefixParts = []string{"bin", "sbin", "include", "lib", "lib64", "libexec", "share"}

// toolchains returns the directories of programs that env names and that the rules
// above do not show: directories of PATH, with their related directories.
func toolchains(env []string, home string, covered []string) []string {
	var all []string
	add := func(path string) {
		if fi, err := os.Stat(path); err != nil || !fi.IsDir() {
			return
		}
		path = resolve(path)
		outside := home != "" && within(path, home) || slices.ContainsFunc(covered, func(dir string) bool { return within(path, dir) })
		if outside && path != home && !within(home, path) && !slices.Contains(covered, path) {
			all = append(all, path)
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			for _, dir := range filepath.SplitList(value) {
				base, prefix := filepath.Base(dir), filepath.Dir(dir)
				switch {
				case !filepath.IsAbs(dir) || base != "bin" && base != "sbin" && base != "shims":
				case base == "shims" || prefix == home || prefix == "/":
					add(dir)
				default:
					for _, part := range prefixParts {
						add(filepath.Join(prefix, part))
					}
				}
			}
			continue
		}
		parts, known := toolchainVariables[name]
		if !known || !filepath.IsAbs(value) {
			continue
		}
		if parts == nil {
			add(value)
		}
		for _, part := range parts {
			add(filepath.Join(value, part))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
