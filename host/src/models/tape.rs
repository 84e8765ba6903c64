//! Recordings of model requests and answers, to repeat a run without the models.
//!
//! A tape is JSON Lines: one object per exchange. Two questions are equal if everything but the nonce is equal. On replay,
//! the nonce of this run replaces the recorded one. A tape contains the content under review, and never a key.

use super::prompt::Rendered;
use super::{NoAnswer, Reply};
use crate::config::{Api, ModelConfig};
use crate::tape_files::{MAX_BYTES, StoredTape, TapeFiles};
use crate::text::clean_line;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const VERSION: u32 = 1;
/// Stands for the nonce in the digest of a question.
const NONCE: &str = "{nonce}";

/// A recording of model requests and answers.
#[derive(Debug)]
pub enum ModelTape {
    /// Requests and answers are recorded.
    Record(ModelRecorder),
    /// Answers are replayed.
    Replay(ModelPlayer),
}

/// Why a tape cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadModelTape {
    /// The file exists already.
    #[error("cannot record models to `{}`: the file exists", .0.display())]
    Exists(PathBuf),
    /// The file cannot be created or read.
    #[error("cannot open the recording `{}`", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is too long.
    #[error("the recording `{}` has more than {MAX_BYTES} bytes", .0.display())]
    TooLong(PathBuf),
    /// A line is not an exchange.
    #[error("the recording `{}`, line {line}: {message}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

impl ModelTape {
    /// Creates a file to record to. An existing file is never overwritten.
    pub fn record(path: &Path) -> Result<Self, BadModelTape> {
        Ok(Self::Record(ModelRecorder(create(path)?)))
    }

    /// Returns the same tape, whose exchanges are also stored with the run.
    pub(crate) fn and_stored(tape: Option<&Self>, stored: Arc<StoredTape>) -> Self {
        match tape {
            None => Self::Record(ModelRecorder(TapeFiles::default().and_stored(stored))),
            Some(Self::Record(ModelRecorder(files))) => Self::Record(ModelRecorder(files.and_stored(stored))),
            Some(Self::Replay(ModelPlayer { answers, .. })) => {
                let copy = ModelRecorder(TapeFiles::default().and_stored(stored));
                Self::Replay(ModelPlayer { answers: Arc::clone(answers), copy })
            }
        }
    }

    /// Reads a file to replay.
    pub fn replay(path: &Path) -> Result<Self, BadModelTape> {
        let unusable = |source| BadModelTape::Unusable { path: path.to_owned(), source };
        let mut text = String::new();
        let file = File::open(path).map_err(unusable)?;
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unusable)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(BadModelTape::TooLong(path.to_owned()));
        }
        let mut answers: BTreeMap<TapeKey, VecDeque<RecordedAnswer>> = BTreeMap::new();
        for (line, exchange) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let invalid = |message| BadModelTape::Invalid { path: path.to_owned(), line, message };
            let (key, played) = read(exchange).map_err(invalid)?;
            answers.entry(key).or_default().push_back(played);
        }
        Ok(Self::Replay(ModelPlayer { answers: Arc::new(Mutex::new(answers)), copy: ModelRecorder::default() }))
    }

    /// Returns whether answers are replayed.
    pub fn is_replayed(&self) -> bool {
        matches!(self, Self::Replay(_))
    }
}

/// Creates a file that only its owner can read, because it contains the content under review.
fn create(path: &Path) -> Result<TapeFiles, BadModelTape> {
    TapeFiles::create(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => BadModelTape::Exists(path.to_owned()),
        _ => BadModelTape::Unusable { path: path.to_owned(), source },
    })
}

/// One line of a tape.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTapeLine {
    version: u32,
    /// The model, as the configuration names it.
    name: String,
    digest: String,
    nonce: String,
    question: RecordedQuestion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Reply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_answer: Option<NoAnswer>,
}

/// Everything that identifies a question.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedQuestion {
    api: Api,
    model: Option<String>,
    max_tokens: u32,
    system: String,
    prompt: String,
    schema: Option<Value>,
}

impl RecordedQuestion {
    fn new(model: &ModelConfig, question: &Rendered) -> Self {
        let Rendered { system, prompt, schema, max_tokens, .. } = question.clone();
        Self { api: model.api, model: model.model.clone(), max_tokens, system, prompt, schema }
    }

    fn digest(&self, nonce: &str) -> String {
        let text = serde_json::to_string(self).unwrap_or_default().replace(nonce, NONCE);
        let hex = crate::text::hex(&Sha256::digest(text));
        format!("sha256:{hex}")
    }
}

/// The model's name and the question's digest.
type TapeKey = (String, String);

/// A recorded answer, and the nonce of its question.
#[derive(Debug)]
struct RecordedAnswer {
    nonce: String,
    came: Result<Reply, NoAnswer>,
}

fn read(line: &str) -> Result<(TapeKey, RecordedAnswer), String> {
    let exchange: ModelTapeLine = serde_json::from_str(line)
        .map_err(|error| format!("not an exchange: {}", clean_line(&error.to_string(), 200)))?;
    let ModelTapeLine { version, name, digest, nonce, question, answer, no_answer } = exchange;
    if version != VERSION {
        return Err(format!("expected version {VERSION}, found {version}"));
    }
    if nonce.len() < 16 {
        return Err("expected a nonce of at least 16 characters".to_owned());
    }
    let came = match (answer, no_answer) {
        (Some(reply), None) => Ok(reply),
        (None, Some(why)) => Err(why),
        _ => return Err("expected either `answer` or `no_answer`".to_owned()),
    };
    if question.digest(&nonce) != digest {
        return Err("the digest does not match the question: the line was edited".to_owned());
    }
    Ok(((name, digest), RecordedAnswer { nonce, came }))
}

/// Writes exchanges to every one of these files.
#[derive(Debug, Default)]
pub struct ModelRecorder(TapeFiles);

impl ModelRecorder {
    /// Records an exchange. If it cannot be written, there is no answer, because the tape could not repeat the run.
    pub(super) fn record(
        &self,
        check: &str,
        name: &str,
        model: &ModelConfig,
        question: &Rendered,
        came: Result<Reply, NoAnswer>,
    ) -> Result<Reply, NoAnswer> {
        let asked = RecordedQuestion::new(model, question);
        let exchange = ModelTapeLine {
            version: VERSION,
            name: name.to_owned(),
            digest: asked.digest(&question.nonce),
            nonce: question.nonce.clone(),
            question: asked,
            answer: came.as_ref().ok().cloned(),
            no_answer: came.as_ref().err().cloned(),
        };
        let written = self.0.append(check, &exchange).and_then(|()| self.0.sync());
        written.map_err(|error| NoAnswer::Unreachable(format!("cannot write to the recording: {error}")))?;
        came
    }
}

/// Replays recorded answers.
#[derive(Debug)]
pub struct ModelPlayer {
    /// Shared by all runs that use the tape: each answer is given once.
    answers: Arc<Mutex<BTreeMap<TapeKey, VecDeque<RecordedAnswer>>>>,
    copy: ModelRecorder,
}

impl ModelPlayer {
    /// Returns the recorded answer. Each answer is used once: a question that was asked three times has three.
    pub(super) fn play(
        &self,
        check: &str,
        name: &str,
        model: &ModelConfig,
        question: &Rendered,
    ) -> Result<Reply, NoAnswer> {
        self.copy.record(check, name, model, question, self.answer(name, model, question))
    }

    fn answer(&self, name: &str, model: &ModelConfig, question: &Rendered) -> Result<Reply, NoAnswer> {
        let key = (name.to_owned(), RecordedQuestion::new(model, question).digest(&question.nonce));
        let mut answers = self.answers.lock();
        let played = answers.get_mut(&key).and_then(VecDeque::pop_front);
        let Some(RecordedAnswer { nonce, came }) = played else {
            let why = format!(
                "the recording has no {}answer to this question",
                if answers.contains_key(&key) { "further " } else { "" }
            );
            return Err(NoAnswer::Unreachable(why));
        };
        came.map(|reply| Reply { text: reply.text.replace(&nonce, &question.nonce), ..reply })
    }
}
