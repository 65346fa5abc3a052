// Package runtimeapi runs the built `deft runtime-api` and is its client: the contract,
// races, and what is left when it is killed.
package runtimeapi
