//! The bindings that wit-bindgen generates from `wit/`: one module for the imports and shared types, one for each export.
//!
//! Each module adds the description of its world to the component that uses it, and the linker merges them. So a file
//! verifier contains nothing of the submission interface, and a capability that is never called is never imported.
#![allow(unsafe_code, missing_docs, unreachable_pub, reason = "generated from wit/")]

pub mod imports {
    wit_bindgen::generate!({
        inline: "
            package gatehost:sdk;
            world imports {
                import gatehost:verifier/types@0.1.0;
                import gatehost:verifier/submission@0.1.0;
                import gatehost:verifier/log@0.1.0;
                import gatehost:verifier/workspace@0.1.0;
                import gatehost:verifier/commands@0.1.0;
                import gatehost:verifier/models@0.1.0;
            }
        ",
        path: "../../wit",
        world: "gatehost:sdk/imports",
        generate_all,
    });
}

pub mod about {
    wit_bindgen::generate!({
        inline: "package gatehost:sdk; world about { export gatehost:verifier/about@0.1.0; }",
        path: "../../wit",
        world: "gatehost:sdk/about",
        pub_export_macro: true,
        with: {
            "gatehost:verifier/types@0.1.0": crate::bindings::imports::gatehost::verifier::types,
        },
    });
}

pub mod file {
    wit_bindgen::generate!({
        inline: "package gatehost:sdk; world file { export gatehost:verifier/file-verifier@0.1.0; }",
        path: "../../wit",
        world: "gatehost:sdk/file",
        pub_export_macro: true,
        with: {
            "gatehost:verifier/types@0.1.0": crate::bindings::imports::gatehost::verifier::types,
        },
    });
}

pub mod submission {
    wit_bindgen::generate!({
        inline: "package gatehost:sdk; world submission { export gatehost:verifier/submission-verifier@0.1.0; }",
        path: "../../wit",
        world: "gatehost:sdk/submission",
        pub_export_macro: true,
        with: {
            "gatehost:verifier/types@0.1.0": crate::bindings::imports::gatehost::verifier::types,
            "gatehost:verifier/submission@0.1.0": crate::bindings::imports::gatehost::verifier::submission,
        },
    });
}
