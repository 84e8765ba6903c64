//! Estimates the compile time of a component from its function bodies, without compiling them.
//!
//! Most code is compiled in a time that grows with its size. Some is not: where branches meet, the compiler looks at
//! every local that was set on the way, and its time grows with the square of that, so that a function of 3 KB can
//! take ten seconds; what is only read is looked for in every loop around it, and behind every branch since it was last
//! used; what is set again and again behind branches has many values that are alive at the same time; four bytes declare
//! 50,000 locals; and an instruction of two bytes can hand over a thousand values. The weights below were measured with
//! functions made for the purpose, on two loaded cores; with them, the runtimes of JavaScript (SpiderMonkey) and of Python,
//! which take half a minute there, come to 39 and to 23 million, QuickJS and the largest bundled verifier to 5.

use crate::verdict::{ErrorKind, Failure};
use wasmparser::{
    BlockType, FuncType, FunctionBody, FunctionSectionReader, Import, Operator, TypeRef, TypeSectionReader,
};

/// The most microseconds for a component.
pub(super) const MAX_WORK: u64 = 100_000_000;
/// The largest body of one function. Python's runtime has one of 427 KB.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;
/// The deepest nesting of blocks in one function. Python's runtime has one of 781.
const MAX_BLOCK_DEPTH: usize = 5_000;
/// The most values that the blocks and calls of one function may hand over: each costs 2 KB while it is compiled.
const MAX_VALUES: u64 = 50_000;
/// The most branches of one function that all its locals are used over: what is known about a local is kept for each of
/// them, in some 25 bytes. The function of `regex` has 270,000, SpiderMonkey one of 440,000.
pub(super) const MAX_SPREAD: u64 = 10_000_000;
/// The most microseconds for one function, which is compiled on one core. The largest of the bundled verifiers, in
/// `regex`, comes to 2.1 million, that of Python's runtime to 1.1, that of SpiderMonkey to 3.9.
pub(super) const MAX_FUNCTION_WORK: u64 = 20_000_000;
/// The most locals that all functions declare. Those of SpiderMonkey declare 112,000.
pub(super) const MAX_DECLARED: u64 = 5_000_000;
/// The most branches of one function between values of its locals that live beside each other. Where all of them do, each
/// costs up to 30 microseconds; in real code few do. SpiderMonkey has a function of 236,000, Python's runtime of 50,000.
pub(super) const MAX_CHAINED: u64 = 1_000_000;
/// Branches between values of locals that cost no more than the instructions that set them.
const CHEAP_CHAINS: u64 = 2_000;
/// Values of a call that cost no more than the instructions that make them.
const CHEAP_VALUES: u64 = 16;
/// More locals than a function can have.
const MAX_LOCALS: usize = 1 << 16;

/// The estimate so far.
#[derive(Default)]
pub(super) struct CompileWork {
    pub(super) micros: u64,
    /// The largest function: its microseconds, and the branches over which its locals are used.
    pub(super) largest: u64,
    pub(super) spread: u64,
    pub(super) chained: u64,
    /// The locals that all functions declare.
    pub(super) declared: u64,
    /// The parameters and results of each type of the module that is being read.
    arities: Vec<u64>,
    /// The type of each of its functions.
    types: Vec<u32>,
    /// How many blocks have been opened in all functions. Never decreases, so `set` need not be cleared.
    begun: u64,
    /// How many branches and merge points there were in all functions. Never decreases either.
    edges: u64,
    /// The last uses of each local.
    locals: Vec<Local>,
}

/// The last uses of a local.
#[derive(Clone, Default)]
struct Local {
    /// How many blocks had begun when it was set.
    set: u64,
    /// How many blocks had begun, and how many edges there were, when it was read or set.
    touched: u64,
    edges: u64,
    /// The innermost block that it was set in, and how many edges there were.
    set_in: u64,
    set_edges: u64,
    /// How many edges there were between the times that it was set, each of which may not have happened, since it was
    /// last read.
    chain: u64,
}

impl CompileWork {
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

    /// Adds one function. Invalid code is left to the validator.
    pub(super) fn body(&mut self, body: &FunctionBody<'_>) -> Result<(), Failure> {
        let limit = |message: String| Err(Failure::new(ErrorKind::CompileLimit, message));
        let size = body.range().len() as u64;
        if size > MAX_FUNCTION_BYTES {
            return limit(format!("a function of {size} bytes; at most {MAX_FUNCTION_BYTES} are compiled"));
        }
        let declared: u64 =
            body.get_locals_reader().into_iter().flatten().flatten().map(|(count, _)| u64::from(count)).sum();
        // The open blocks and loops, each by its number; locals that were set where branches meet, and those that were
        // read or set in loops; branches between one use of a local and the next; targets of `br_table`.
        let (mut blocks, mut loops, mut meeting, mut looping) = (Vec::new(), Vec::new(), 0u64, 0u64);
        let (mut spread, mut chained, mut targets, mut values) = (0u64, 0u64, 0u64, 0u64);
        // All uses in earlier functions count as before this one.
        self.edges += 1;
        let start = self.edges;
        let Ok(mut operators) = body.get_operators_reader() else { return Ok(()) };
        while !operators.eof() {
            let Ok(operator) = operators.read() else { return Ok(()) };
            match operator {
                Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                    self.begun += 1;
                    self.edges += 1;
                    blocks.push(self.begun);
                    if matches!(operator, Operator::Loop { .. }) {
                        loops.push(self.begun);
                    }
                    values += match blockty {
                        BlockType::Empty => 0,
                        BlockType::Type(_) => 1,
                        BlockType::FuncType(index) => self.arity(index),
                    };
                }
                Operator::End => {
                    let ended = blocks.pop();
                    loops.pop_if(|block| ended == Some(*block));
                }
                Operator::LocalGet { local_index } => {
                    let (in_loops, edges) = self.touch(local_index as usize, &loops, start);
                    (looping, spread) = (looping + in_loops, spread + edges);
                    chained += self.read_chain(local_index as usize, start);
                }
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    let (in_loops, edges) = self.touch(local_index as usize, &loops, start);
                    (looping, spread) = (looping + in_loops, spread + edges);
                    meeting += self.set(local_index as usize, &blocks);
                    self.chain(local_index as usize, blocks.last().copied().unwrap_or(0), start);
                    // In a loop, the read may come before.
                    if !loops.is_empty() {
                        chained += self.read_chain(local_index as usize, start);
                    }
                }
                Operator::Br { .. } | Operator::BrIf { .. } | Operator::Else => self.edges += 1,
                Operator::BrTable { targets: table } => {
                    targets += u64::from(table.len());
                    self.edges += u64::from(table.len());
                }
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
                return limit(format!("a function whose blocks and calls pass more than {MAX_VALUES} values"));
            }
            if spread > MAX_SPREAD {
                return limit(format!(
                    "a function whose locals are used over more than {MAX_SPREAD} branches together"
                ));
            }
        }
        self.spread = self.spread.max(spread);
        self.declared += declared;
        if self.declared > MAX_DECLARED {
            return limit(format!("its functions declare more than {MAX_DECLARED} locals"));
        }
        self.chained = self.chained.max(chained);
        if chained > MAX_CHAINED {
            return limit(format!(
                "a function whose locals are set again over more than {MAX_CHAINED} branches together"
            ));
        }
        let chained = chained.saturating_sub(CHEAP_CHAINS);
        let of_locals = meeting.saturating_mul(meeting) / 128 + 20 * looping + 4 * chained + spread / 4 + declared / 6;
        let micros = 200 + 2 * size + of_locals + 8 * targets + 12 * values;
        self.largest = self.largest.max(micros);
        if micros > MAX_FUNCTION_WORK {
            let seconds = MAX_FUNCTION_WORK / 1_000_000;
            return limit(format!("a function that could take more than {seconds} seconds to compile"));
        }
        self.add(micros)
    }

    /// Adds microseconds.
    pub(super) fn add(&mut self, micros: u64) -> Result<(), Failure> {
        self.micros = self.micros.saturating_add(micros);
        if self.micros > MAX_WORK {
            let message = format!("compiling it could take more than {} seconds", MAX_WORK / 1_000_000);
            return Err(Failure::new(ErrorKind::CompileLimit, message));
        }
        Ok(())
    }

    fn arity(&self, index: u32) -> u64 {
        self.arities.get(index as usize).copied().unwrap_or(0)
    }

    fn local(&mut self, local: usize) -> Option<&mut Local> {
        if local >= self.locals.len() {
            self.locals.resize((local + 1).min(MAX_LOCALS), Local::default());
        }
        self.locals.get_mut(local)
    }

    /// Notes that a local is set, and returns in how many of the open blocks that is the first time.
    fn set(&mut self, local: usize, blocks: &[u64]) -> u64 {
        let begun = self.begun;
        let Some(local) = self.local(local) else { return 0 };
        first_in(blocks, std::mem::replace(&mut local.set, begun))
    }

    /// Notes that a local was set in a block. Unless that block is around the one that it was set in before, the value that
    /// it had can live on beside the new one, over all branches in between, until both meet.
    fn chain(&mut self, local: usize, block: u64, start: u64) {
        let edges = self.edges;
        let Some(local) = self.local(local) else { return };
        if local.set_edges < start || local.set_in >= block {
            local.chain = 0;
        } else {
            local.chain += edges - local.set_edges;
        }
        (local.set_in, local.set_edges) = (block, edges);
    }

    /// Returns the chain of a local that is read now.
    fn read_chain(&mut self, local: usize, start: u64) -> u64 {
        let Some(local) = self.local(local) else { return 0 };
        if local.set_edges < start { 0 } else { std::mem::take(&mut local.chain) }
    }

    /// Notes that a local is read or set. Returns in how many of the open loops that is the first time, and the number of edges
    /// since the last time, or since the start of the function.
    fn touch(&mut self, local: usize, loops: &[u64], start: u64) -> (u64, u64) {
        let (begun, edges) = (self.begun, self.edges);
        let Some(local) = self.local(local) else { return (0, 0) };
        let touched = std::mem::replace(&mut local.touched, begun);
        let since = std::mem::replace(&mut local.edges, edges).max(start);
        (first_in(loops, touched), edges - since)
    }
}

/// Returns how many of these blocks had not begun when as many as `before` had.
fn first_in(blocks: &[u64], before: u64) -> u64 {
    (blocks.len() - blocks.partition_point(|&block| block <= before)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_counts_once_for_each_block_that_it_is_set_in() {
        let mut work = CompileWork { begun: 3, ..CompileWork::default() };
        assert_eq!(work.set(7, &[1, 2, 3]), 3);
        assert_eq!(work.set(7, &[1, 2, 3]), 0);
        assert_eq!(work.set(6, &[1, 2, 3]), 3);
        // The two inner blocks have ended, and another has begun.
        work.begun = 4;
        assert_eq!(work.set(7, &[1, 4]), 1);
        assert_eq!(work.set(usize::MAX - 1, &[1, 4]), 0);
    }

    #[test]
    fn a_local_that_is_read_counts_for_loops_and_for_the_branches_in_between() {
        let mut work = CompileWork { begun: 3, edges: 10, ..CompileWork::default() };
        // The function began at edge 4; of the 3 open blocks, one is a loop.
        assert_eq!(work.touch(7, &[2], 4), (1, 6));
        assert_eq!(work.touch(7, &[2], 4), (0, 0));
        work.edges = 15;
        assert_eq!(work.touch(7, &[2], 4), (0, 5));
        assert_eq!(work.touch(6, &[2, 3], 4), (2, 11));
        // In the next function, nothing of the last one counts.
        (work.begun, work.edges) = (5, 20);
        assert_eq!(work.touch(7, &[5], 19), (1, 1));
    }

    #[test]
    fn values_that_live_beside_each_other_count_over_the_branches_in_between() {
        let mut work = CompileWork { edges: 10, ..CompileWork::default() };
        let set = |work: &mut CompileWork, edges: u64, block: u64| {
            work.edges = edges;
            work.chain(7, block, 5);
        };
        // In one block after the other, and then read.
        set(&mut work, 10, 1);
        set(&mut work, 14, 2);
        set(&mut work, 20, 3);
        assert_eq!((work.read_chain(7, 5), work.read_chain(7, 5)), (10, 0));
        // Around them, nothing of it is left.
        set(&mut work, 25, 4);
        set(&mut work, 30, 0);
        assert_eq!(work.read_chain(7, 5), 0);
        // Nor in the next function.
        set(&mut work, 31, 5);
        assert_eq!(work.read_chain(7, 40), 0);
    }
}
