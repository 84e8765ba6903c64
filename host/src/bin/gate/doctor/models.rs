//! Tests the models of the configuration: whether each can be reached, and whether independent votes use different ones.

use super::DoctorLine;
use gatehost::config::{Api, ModelConfig};
use gatehost::environment::Environment;
use gatehost::models::{is_same_model, reach};
use gatehost::plan::Plan;
use std::thread;
use std::time::Duration;

/// The time limit of a server.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns a line for each model, and one for each pair that is the same model.
pub(super) fn lines(plan: &Plan) -> Vec<DoctorLine> {
    let environment = Environment::of_process();
    let asked: Vec<Option<DoctorLine>> = thread::scope(|scope| {
        let threads: Vec<_> =
            plan.models.iter().map(|(name, model)| scope.spawn(|| line(name, model, &environment))).collect();
        threads.into_iter().map(|thread| thread.join().ok()).collect()
    });
    let mut lines: Vec<DoctorLine> = asked.into_iter().flatten().collect();
    let named: Vec<(&String, &String)> =
        plan.models.iter().filter_map(|(name, model)| Some((name, model.model.as_ref()?))).collect();
    for (index, (name, model)) in named.iter().enumerate() {
        for (other_name, other) in named.iter().skip(index + 1).filter(|(_, other)| is_same_model(model, other)) {
            let detail = format!(
                "`{name}` and `{other_name}` are the same model (`{model}`, `{other}`): independent votes count them as one"
            );
            lines.push(DoctorLine::bad(
                "models",
                detail,
                format!("give `[model.{other_name}]` another model, or use only one"),
            ));
        }
    }
    lines
}

fn line(name: &str, model: &ModelConfig, environment: &Environment) -> DoctorLine {
    let what = format!("model {name}");
    if model.api == Api::Command {
        let command = model.command.as_deref().unwrap_or_default();
        return DoctorLine::note(what, format!("is the command `{command}`; only a gate runs it"));
    }
    match reach(model, environment, PATIENCE) {
        Ok(()) => DoctorLine::good(what, "can be reached"),
        Err(why) => DoctorLine::bad(
            what,
            why.to_string(),
            format!("check `url` and `key_env` of `[model.{name}]`, and the network"),
        ),
    }
}
