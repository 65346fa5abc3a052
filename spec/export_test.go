package spec

import (
	"maps"
	"slices"
)

// WithoutEffect is withoutEffect, for tests.
var WithoutEffect = withoutEffect

// ContractNames returns the names of all schemas of the contract.
func ContractNames() []string { return slices.Sorted(maps.Keys(lines())) }

// DescribedFields returns the fields that have a description.
func DescribedFields() []string { return slices.Sorted(maps.Keys(helps())) }
