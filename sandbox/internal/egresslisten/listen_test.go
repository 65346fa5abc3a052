package egresslisten

import (
	"slices"
	"testing"
)

func TestEnvironmentOfJava(t *testing.T) {
	t.Parallel()
	const proxy = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=99 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=99"
	env := Environment([]string{"MAVEN_OPTS=-Xmx1g", "HTTP_PROXY=http://other"}, 99, "")
	for _, want := range []string{"MAVEN_OPTS=-Xmx1g " + proxy, "GRADLE_OPTS=" + proxy, "HTTP_PROXY=http://127.0.0.1:99"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	if slices.Contains(env, "MAVEN_OPTS=-Xmx1g") || slices.Contains(env, "HTTP_PROXY=http://other") {
		t.Errorf("an old value is left: %q", env)
	}
	if env := Environment([]string{"MAVEN_OPTS=-Xmx1g"}, 99, "token"); !slices.Contains(env, "MAVEN_OPTS=-Xmx1g") {
		t.Errorf("with a password: %q", env)
	}
}
