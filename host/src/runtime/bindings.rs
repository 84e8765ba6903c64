//! The bindings that `bindgen!` generates from `wit/`: the imports that this host offers and the exports that it calls.
#![allow(missing_docs, unreachable_pub, reason = "generated from wit/")]

wasmtime::component::bindgen!({
    inline: "
        package gatehost:host;
        world host {
            import gatehost:verifier/log@0.1.0;
            import gatehost:verifier/workspace@0.1.0;
            import gatehost:verifier/commands@0.1.0;
            import gatehost:verifier/models@0.1.0;
            export gatehost:verifier/about@0.1.0;
            export gatehost:verifier/file-verifier@0.1.0;
            export gatehost:verifier/submission-verifier@0.1.0;
        }
    ",
    path: "../wit",
    world: "gatehost:host/host",
    imports: {
        "gatehost:verifier/commands.run": async | trappable,
        "gatehost:verifier/models.ask": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
