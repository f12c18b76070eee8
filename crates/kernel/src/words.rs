//! Words of models on the wire. Models know nothing of schemas, so their views say what is shown.

/// Describes a model's word as one of a list.
#[macro_export]
macro_rules! word {
    ($type:ident: $($variant:ident),* $(,)?) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($type::$variant),*] })
            }
        }
    };
}

/// The fixed `object` of a view. As a `component` it has a schema of its own in the contract.
#[macro_export]
macro_rules! object {
    ($name:ident, $text:literal) => {
        #[derive(serde::Serialize, schemars::JsonSchema)]
        #[schemars(inline)]
        pub enum $name {
            #[serde(rename = $text)]
            It,
        }
    };
    (component $name:ident, $text:literal) => {
        #[derive(serde::Serialize, schemars::JsonSchema)]
        enum $name {
            #[serde(rename = $text)]
            It,
        }
    };
}
