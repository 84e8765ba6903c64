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
	Edit    = gatehost_verifier_types.Edit
	Finding = gatehost_verifier_types.Finding
	Fix     = gatehost_verifier_types.Fix
	Metric  = gatehost_verifier_types.Metric
	Place   = gatehost_verifier_types.Place
	Verdict = gatehost_verifier_types.Verdict
)

// The levels of findings and rules.
const (
	LevelError   = gatehost_verifier_types.LevelError
	LevelWarning = gatehost_verifier_types.LevelWarning
	LevelNote    = gatehost_verifier_types.LevelNote
)

// Settings reads the settings into a struct that holds the defaults. The host has checked them against the schema.
func Settings[T any](text string, defaults T) T {
	if err := json.Unmarshal([]byte(text), &defaults); err != nil {
		panic(err)
	}
	return defaults
}

// Error is something that must not pass. `Level` and `Category` are fields to set.
func Error(code, message, hint string) Finding {
	return Finding{Code: code, Level: LevelError, Message: message, Hint: Some(hint)}
}

// AtFile is the finding, at a whole file.
func AtFile(finding Finding, path string) Finding {
	none := None[uint32]()
	finding.Place = Some(Place{Path: path, Line: none, Column: none, EndLine: none, EndColumn: none})
	return finding
}

// AtOffset is the finding, at the byte at an offset. Lines and columns count from 1; a column counts characters.
func AtOffset(finding Finding, path, text string, offset int) Finding {
	line, column := position(text, offset)
	finding = AtFile(finding, path)
	place := finding.Place.Some()
	place.Line = Some(line)
	place.Column = Some(column)
	finding.Place = Some(place)
	return finding
}

func position(text string, offset int) (line, column uint32) {
	before := text[:offset]
	inLine := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return uint32(strings.Count(before, "\n") + 1), uint32(inLine + 1)
}

// WithKey is the finding, with what identifies it besides its code and its file, such as the name of a test.
func WithKey(finding Finding, key string) Finding {
	finding.Key = Some(key)
	return finding
}

// WithFix is the finding, which has a place, with a repair: edits in the order of the file.
func WithFix(finding Finding, description string, edits ...Edit) Finding {
	finding.Fix = Some(Fix{Description: description, Edits: edits})
	return finding
}

// Replace is an edit: the bytes from `start` to `end` of a text are replaced.
func Replace(text string, start, end int, replacement string) Edit {
	edit := Edit{Replacement: replacement}
	edit.StartLine, edit.StartColumn = position(text, start)
	edit.EndLine, edit.EndColumn = position(text, end)
	return edit
}

// Of is the verdict that rests on these findings: a failure if one of them is an error. `Metrics`, `NeedsPerson` and
// `Class` are fields to set.
func Of(findings []Finding) Verdict {
	status := uint8(gatehost_verifier_types.StatusPass)
	for _, finding := range findings {
		if finding.Level == gatehost_verifier_types.LevelError {
			status = uint8(gatehost_verifier_types.StatusFail)
		}
	}
	return Verdict{Status: status, Findings: findings}
}

// Abstain says that this verifier should judge and cannot, and why.
func Abstain(why string) Verdict {
	return Verdict{Status: uint8(gatehost_verifier_types.StatusAbstain), Summary: why}
}

// NotApplicable says that the input is none of this verifier's business, and why.
func NotApplicable(why string) Verdict {
	return Verdict{Status: uint8(gatehost_verifier_types.StatusNotApplicable), Summary: why}
}
