//! How long compiling takes, estimated from the bodies of the functions without compiling them.
//!
//! Most code is compiled in a time that grows with its size. Some is not: where branches meet, the compiler looks at
//! every local that was set on the way, and its time grows with the square of that, so that a function of 3 KB can
//! take ten seconds; and an instruction of two bytes can hand over a thousand values. The weights below were measured
//! with functions made for the purpose, on two loaded cores; with them, the runtimes of JavaScript and of Python, which
//! take half a minute there, come to 30 and to 19 million.

use crate::verdict::{ErrorKind, Failure};
use wasmparser::{
    BlockType, FuncType, FunctionBody, FunctionSectionReader, Import, Operator, TypeRef, TypeSectionReader,
};

/// The most microseconds for a component.
const MAX_WORK: u64 = 100_000_000;
/// The largest body of one function. Python's runtime has one of 427 KB.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;
/// The deepest nesting of blocks in one function. Python's runtime has one of 781.
const MAX_BLOCK_DEPTH: usize = 5_000;
/// The most values that the blocks and calls of one function may hand over: each costs 2 KB while it is compiled.
const MAX_VALUES: u64 = 50_000;
/// Values of a call that cost no more than the instructions that make them.
const CHEAP_VALUES: u64 = 16;
/// More locals than a function can have.
const MAX_LOCALS: usize = 1 << 16;

/// What was estimated so far.
#[derive(Default)]
pub(super) struct Work {
    micros: u64,
    /// The parameters and results of each type of the module that is being read.
    arities: Vec<u64>,
    /// The type of each of its functions.
    types: Vec<u32>,
    /// How many blocks have begun in all functions. Never goes back, so that `set` need not be cleared.
    begun: u64,
    /// For each local, how many blocks had begun when it was last set.
    set: Vec<u64>,
}

impl Work {
    pub(super) fn begin_module(&mut self) {
        self.arities.clear();
        self.types.clear();
    }

    pub(super) fn types(&mut self, section: &TypeSectionReader<'_>) {
        let arity = |function: FuncType| (function.params().len() + function.results().len()) as u64;
        self.arities.extend(section.clone().into_iter_err_on_gc_types().flatten().map(arity));
    }

    pub(super) fn import(&mut self, import: &Import<'_>) {
        if let TypeRef::Func(index) = import.ty {
            self.types.push(index);
        }
    }

    pub(super) fn functions(&mut self, section: &FunctionSectionReader<'_>) {
        self.types.extend(section.clone().into_iter().flatten());
    }

    /// Add one function. What is not valid in it is left to the validator.
    pub(super) fn body(&mut self, body: &FunctionBody<'_>) -> Result<(), Failure> {
        let limit = |message: String| Err(Failure::new(ErrorKind::CompileLimit, message));
        let size = body.range().len() as u64;
        if size > MAX_FUNCTION_BYTES {
            return limit(format!("a function of {size} bytes; at most {MAX_FUNCTION_BYTES} are compiled"));
        }
        // The open blocks, each by its number; locals that were set where branches meet; targets of `br_table`.
        let (mut blocks, mut meeting, mut targets, mut values) = (Vec::new(), 0u64, 0u64, 0u64);
        let Ok(mut operators) = body.get_operators_reader() else { return Ok(()) };
        while !operators.eof() {
            let Ok(operator) = operators.read() else { return Ok(()) };
            match operator {
                Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                    self.begun += 1;
                    blocks.push(self.begun);
                    values += match blockty {
                        BlockType::Empty => 0,
                        BlockType::Type(_) => 1,
                        BlockType::FuncType(index) => self.arity(index),
                    };
                }
                Operator::End => drop(blocks.pop()),
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    meeting += self.set(local_index as usize, &blocks);
                }
                Operator::BrTable { targets: table } => targets += u64::from(table.len()),
                Operator::Call { function_index } => {
                    let index = self.types.get(function_index as usize).copied();
                    values += index.map_or(0, |index| self.arity(index).saturating_sub(CHEAP_VALUES));
                }
                Operator::CallIndirect { type_index, .. } => {
                    values += self.arity(type_index).saturating_sub(CHEAP_VALUES);
                }
                _ => {}
            }
            if blocks.len() > MAX_BLOCK_DEPTH {
                return limit(format!("blocks nested more than {MAX_BLOCK_DEPTH} deep"));
            }
            if values > MAX_VALUES {
                return limit(format!("a function whose blocks and calls hand over more than {MAX_VALUES} values"));
            }
        }
        self.micros += 200 + 2 * size + meeting.saturating_mul(meeting) / 128 + 8 * targets + 12 * values;
        if self.micros > MAX_WORK {
            return limit(format!("compiling it could take more than {} seconds", MAX_WORK / 1_000_000));
        }
        Ok(())
    }

    fn arity(&self, index: u32) -> u64 {
        self.arities.get(index as usize).copied().unwrap_or(0)
    }

    /// Note that a local is set, and say in how many of the open blocks that is for the first time.
    fn set(&mut self, local: usize, blocks: &[u64]) -> u64 {
        if local >= self.set.len() {
            self.set.resize((local + 1).min(MAX_LOCALS), 0);
        }
        let Some(set) = self.set.get_mut(local) else { return 0 };
        let before = std::mem::replace(set, self.begun);
        (blocks.len() - blocks.partition_point(|&block| block <= before)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_counts_once_for_each_block_that_it_is_set_in() {
        let mut work = Work { begun: 3, ..Work::default() };
        assert_eq!(work.set(7, &[1, 2, 3]), 3);
        assert_eq!(work.set(7, &[1, 2, 3]), 0);
        assert_eq!(work.set(6, &[1, 2, 3]), 3);
        // The two inner blocks have ended, and another has begun.
        work.begun = 4;
        assert_eq!(work.set(7, &[1, 4]), 1);
        assert_eq!(work.set(usize::MAX - 1, &[1, 4]), 0);
    }
}
