// Package wit_runtime gives memory to what the host hands over, and to what it is handed.
package wit_runtime

import (
	"runtime"
	"unsafe"
)

// An instance lives for one call. So what was handed over is kept until its end, and never freed.
var kept [][]uint64

func allocate(size uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	// In units of eight bytes, so that it is aligned for every type of the contract.
	block := make([]uint64, (size+7)/8)
	kept = append(kept, block)
	return unsafe.Pointer(unsafe.SliceData(block))
}

// Allocate is for the generated bindings.
func Allocate(_ *runtime.Pinner, size, _ uintptr) unsafe.Pointer { return allocate(size) }

// Unpin is for the generated bindings.
func Unpin() {}

//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, _, size uintptr) unsafe.Pointer {
	block := allocate(size)
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(block), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return block
}
