#!/bin/sh
# Runs the tests: sh test.sh
. ./slug.sh
failed=0

check() {
	got=$(slug "$1")
	if [ "$got" = "$2" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: got '$got', want '$2'"
		failed=1
	fi
}

check 'Hello World' 'hello-world'
check 'Hello, World!' 'hello-world'
check '  many   spaces  ' 'many-spaces'
check 'already-a-slug' 'already-a-slug'
exit $failed
