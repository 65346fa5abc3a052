#!/bin/sh
# Turns a title into a slug for a web address: "Hello, World!" -> hello-world
slug() {
	printf '%s' "$1" |
		tr '[:upper:]' '[:lower:]' |
		tr -c 'a-z0-9' '-'
}

if [ "${0##*/}" = slug.sh ]; then
	slug "$1"
	echo
fi
