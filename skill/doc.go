// Package skill reads skills: text that a user or a repository gives to the
// agent, always, on a keyword, when a file is touched, or when the model asks
// for it (docs/openhands/sdk-features.md section 5).
//
// # Usage
//
//	project, warnings := skill.LoadProject(dir)
//	user, more := skill.LoadUser(skill.UserDirs(home, persistence))
//	all := skill.Without(skill.Merge(project, skill.Merge(own, user)), disabled)
//
//	system := skill.RepoContext(all) + skill.Available(all) // for the system prompt
//	hit := skill.Match(all, userMessage, activated)         // for extended_content
//	rule := skill.MatchPath(all, "src/a.go", activatedRules)
//
// # Trust
//
// A repository is hostile. Its files are read through [os.Root], so that a
// link out of the project is refused; sizes, counts and depth are bounded; and
// !`command` in a skill is only run by a caller who passes a runner to [Render].
//
// # Concurrency and failure
//
// Skills are immutable values; everything is safe for concurrent
// use. A file that cannot be read or is no skill is a [Warning], and the
// others are loaded.
package skill
