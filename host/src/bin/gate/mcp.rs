//! `gate mcp`: a server of the Model Context Protocol over stdio.
//!
//! The crate rmcp speaks the protocol: revision 2026-07-28, in which each request describes itself, and the older ones with a
//! handshake. This file says what the server is, `tools` what it can do, and `stdio` reads and writes the messages.
//! `tests/mcp-client` drives the server with the official Python SDK.
//!
//! One host serves all calls, so only the first call starts the engine. Calls run in parallel, and each can be cancelled. A gate
//! that fails is a result, not an error: `isError` means that the gate could not run. The tools advise; hooks enforce.

mod stdio;
mod tools;

use self::stdio::Stdio;
use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::{Exit, setup};
use gatehost::environment::Environment;
use gatehost::session::Host;
use gatehost::text::{self, clean, clean_line, clean_value};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use std::path::PathBuf;
use tokio::sync::Semaphore;

/// Printed below the flags of `gate mcp --help`.
pub(crate) const HELP: &str = "\
Tools: `verify` runs a gate, `explain` describes a finding code, `status` shows the last runs, `fix` lists the fixes that \
verifiers offer. The tools advise; hooks enforce (`gate install`).";

/// The most parallel calls; others wait.
const MAX_CALLS: usize = 4;

/// The state that all calls share.
struct McpServer {
    directory: PathBuf,
    host: Host,
    places: Semaphore,
}

pub(crate) fn run(global: &Global) -> Result<Exit, Error> {
    let host = setup::host(global, &Environment::of_process())?;
    let server = McpServer { directory: global.directory.clone(), host, places: Semaphore::new(MAX_CALLS) };
    let (stdio, client) = Stdio::open();
    // The calls that still run when this ends are dropped, and with them their commands.
    let served = setup::wait(async {
        tokio::select! {
            served = serve(server, stdio) => served,
            () = client.gone() => Ok(()),
        }
    });
    client.finish();
    served.map(|()| Exit::Pass)
}

/// Serves a client until the end of its input.
async fn serve(server: McpServer, stdio: Stdio) -> Result<(), Error> {
    match server.serve(stdio).await {
        Ok(service) => service.waiting().await.map(|_| ()).map_err(Error::broken),
        // The client left before its first request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::mistake(error)),
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("gate", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Call `verify` before saying that work is done. Nothing but the verdict `pass` is a pass.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = async {
            let _place = self.places.acquire().await;
            tools::call(self, &request.name, request.arguments.unwrap_or_default()).await
        };
        let answer = tokio::select! {
            answer = call => answer,
            // rmcp sends no response to a request that was cancelled.
            () = context.ct.cancelled() => Some(Err("the call was cancelled".to_owned())),
        };
        match answer {
            // The client decodes what is escaped, and the agent reads what is decoded: marks stay visible.
            Some(Ok(mut content)) => {
                clean_value(&mut content);
                if let Some(note) = text::invisible_note(text::invisible(&content.to_string())) {
                    content["note"] = note.into();
                }
                Ok(CallToolResult::structured(content).into())
            }
            Some(Err(why)) => {
                let why = text::noted(clean(&why, usize::MAX), 0);
                Ok(CallToolResult::error(vec![ContentBlock::text(why)]).into())
            }
            None => {
                let name = clean_line(&request.name, 100);
                Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None))
            }
        }
    }
}
