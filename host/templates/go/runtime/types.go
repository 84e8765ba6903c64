// Package wit_types has the types of the contract that Go does not: values that may be missing, and results.
package wit_types

const (
	OptionNone = 0
	OptionSome = 1
	ResultOk   = 0
	ResultErr  = 1
)

// Option is a value that may be missing.
type Option[T any] struct {
	tag   uint8
	value T
}

// None is no value.
func None[T any]() Option[T] { return Option[T]{} }

// Some is this value.
func Some[T any](value T) Option[T] { return Option[T]{OptionSome, value} }

// Tag says which of the two it is.
func (option Option[T]) Tag() uint8 { return option.tag }

// IsSome says whether there is a value.
func (option Option[T]) IsSome() bool { return option.tag == OptionSome }

// Some is the value, which must be there.
func (option Option[T]) Some() T {
	if option.tag != OptionSome {
		panic("there is no value")
	}
	return option.value
}

// SomeOr is the value, or another where there is none.
func (option Option[T]) SomeOr(other T) T {
	if option.tag != OptionSome {
		return other
	}
	return option.value
}

// Unit is a value that says nothing.
type Unit struct{}

// Result is a value, or why there is none.
type Result[T, E any] struct {
	tag uint8
	ok  T
	err E
}

// Ok is a result that is there.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{tag: ResultOk, ok: value} }

// Err says why there is no result.
func Err[T, E any](why E) Result[T, E] { return Result[T, E]{tag: ResultErr, err: why} }

// Tag says which of the two it is.
func (result Result[T, E]) Tag() uint8 { return result.tag }

// IsErr says whether there is no result.
func (result Result[T, E]) IsErr() bool { return result.tag == ResultErr }

// Ok is the result, which must be there.
func (result Result[T, E]) Ok() T {
	if result.tag != ResultOk {
		panic("there is no result")
	}
	return result.ok
}

// Err is the reason why there is none, which must be there.
func (result Result[T, E]) Err() E {
	if result.tag != ResultErr {
		panic("there is a result")
	}
	return result.err
}
