// Package gatehost has helpers for verifiers: settings, places, findings. The types are those of the contract.
package gatehost

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	. "go.bytecodealliance.org/pkg/wit/types"
	"wit_component/gatehost_verifier_types"
)

type (
	Finding = gatehost_verifier_types.Finding
	Place   = gatehost_verifier_types.Place
	Verdict = gatehost_verifier_types.Verdict
)

// Settings reads the settings into a struct that holds the defaults. The host has checked them against the schema.
func Settings[T any](text string, defaults T) T {
	if err := json.Unmarshal([]byte(text), &defaults); err != nil {
		panic(err)
	}
	return defaults
}

// Error is something that must not pass.
func Error(code, message, hint string) Finding {
	return Finding{
		Code:    code,
		Level:   gatehost_verifier_types.LevelError,
		Message: message,
		Place:   None[Place](),
		Hint:    Some(hint),
	}
}

// AtFile is the finding, at a whole file.
func AtFile(finding Finding, path string) Finding {
	none := None[uint32]()
	finding.Place = Some(Place{Path: path, Line: none, Column: none, EndLine: none, EndColumn: none})
	return finding
}

// AtOffset is the finding, at the byte at an offset. Lines and columns count from 1; a column counts characters.
func AtOffset(finding Finding, path, text string, offset int) Finding {
	before := text[:offset]
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	finding = AtFile(finding, path)
	place := finding.Place.Some()
	place.Line = Some(uint32(strings.Count(before, "\n") + 1))
	place.Column = Some(uint32(column))
	finding.Place = Some(place)
	return finding
}

// Of is the verdict that rests on these findings: a failure if one of them is an error.
func Of(findings []Finding) Verdict {
	status := uint8(gatehost_verifier_types.StatusPass)
	for _, finding := range findings {
		if finding.Level == gatehost_verifier_types.LevelError {
			status = uint8(gatehost_verifier_types.StatusFail)
		}
	}
	return Verdict{Status: status, Confidence: None[float64](), Findings: findings, Class: None[string]()}
}

// Abstain says that this verifier cannot judge, and why.
func Abstain(why string) Verdict {
	verdict := Of(nil)
	verdict.Status = uint8(gatehost_verifier_types.StatusAbstain)
	verdict.Summary = why
	return verdict
}
