//! The list of frameworks.

use super::{ApiUrl, Framework, Scripts};

const BACKEND_ONLY: Framework = Framework {
    name: "",
    aliases: &[],
    title: "",
    package: "",
    file: ".env",
    publishable_key: None,
    secret_key: Some("CLERK_SECRET_KEY"),
    api_url: Some(ApiUrl::Bare("CLERK_API_URL")),
    proxy_url: None,
    scripts: None,
    sign_in_url: None,
    sign_up_url: None,
    issuer: None,
    telemetry: &[],
    start: None,
    code_plain: &[],
    code_https: &[],
    code_production: None,
    is_markup: false,
};

/// A server on Node, which reads a file of variables only when it is told to.
const NODE_SERVER: Framework = Framework {
    publishable_key: Some("CLERK_PUBLISHABLE_KEY"),
    start: Some("node --env-file=.env app.mjs"),
    ..BACKEND_ONLY
};

/// Pages that are built by Vite. Only what begins with `VITE_` gets into them.
const VITE: Framework = Framework {
    publishable_key: Some("VITE_CLERK_PUBLISHABLE_KEY"),
    secret_key: None,
    api_url: None,
    proxy_url: Some("VITE_CLERK_PROXY_URL"),
    scripts: Some(Scripts { clerk_js: ("VITE_CLERK_JS_URL", "6"), ui: Some(("VITE_CLERK_UI_URL", "1")) }),
    sign_in_url: Some("VITE_CLERK_SIGN_IN_URL"),
    sign_up_url: Some("VITE_CLERK_SIGN_UP_URL"),
    ..BACKEND_ONLY
};

/// The same with a server that renders them.
const VITE_SERVER: Framework = Framework {
    secret_key: BACKEND_ONLY.secret_key,
    api_url: BACKEND_ONLY.api_url,
    telemetry: &["VITE_CLERK_TELEMETRY_DISABLED", "CLERK_TELEMETRY_DISABLED"],
    ..VITE
};

/// Every framework, in the order of the documentation.
pub(crate) const FRAMEWORKS: &[Framework] = &[
    Framework {
        name: "next",
        aliases: &["nextjs"],
        title: "Next.js",
        package: "@clerk/nextjs",
        file: ".env.local",
        publishable_key: Some("NEXT_PUBLIC_CLERK_PUBLISHABLE_KEY"),
        proxy_url: Some("NEXT_PUBLIC_CLERK_PROXY_URL"),
        scripts: Some(Scripts {
            clerk_js: ("NEXT_PUBLIC_CLERK_JS_URL", "6"),
            ui: Some(("NEXT_PUBLIC_CLERK_UI_URL", "1")),
        }),
        sign_in_url: Some("NEXT_PUBLIC_CLERK_SIGN_IN_URL"),
        sign_up_url: Some("NEXT_PUBLIC_CLERK_SIGN_UP_URL"),
        telemetry: &["NEXT_PUBLIC_CLERK_TELEMETRY_DISABLED"],
        ..BACKEND_ONLY
    },
    Framework {
        name: "react",
        aliases: &["vite"],
        title: "React with Vite",
        package: "@clerk/react",
        file: ".env.local",
        code_plain: &[
            "<ClerkProvider publishableKey={import.meta.env.VITE_CLERK_PUBLISHABLE_KEY} telemetry={false}",
            "  proxyUrl={import.meta.env.VITE_CLERK_PROXY_URL}",
            "  signInUrl={import.meta.env.VITE_CLERK_SIGN_IN_URL} signUpUrl={import.meta.env.VITE_CLERK_SIGN_UP_URL}",
            "  {...{ __internal_clerkJSUrl: import.meta.env.VITE_CLERK_JS_URL,",
            "    __internal_clerkUIUrl: import.meta.env.VITE_CLERK_UI_URL }}>",
        ],
        code_https: &[
            "<ClerkProvider publishableKey={import.meta.env.VITE_CLERK_PUBLISHABLE_KEY} telemetry={false}",
            "  signInUrl=\"/sign-in\" signUpUrl=\"/sign-up\">, with pages there that show <SignIn /> and <SignUp />",
        ],
        code_production: Some(&[
            "<ClerkProvider publishableKey={import.meta.env.VITE_CLERK_PUBLISHABLE_KEY} telemetry={false}>",
        ]),
        ..VITE
    },
    Framework {
        name: "react-5",
        aliases: &["clerk-react"],
        title: "React with the SDK's version 5",
        package: "@clerk/clerk-react@5",
        file: ".env.local",
        scripts: Some(Scripts { clerk_js: ("VITE_CLERK_JS_URL", "5"), ui: None }),
        code_plain: &[
            "<ClerkProvider publishableKey={import.meta.env.VITE_CLERK_PUBLISHABLE_KEY} telemetry={false}",
            "  proxyUrl={import.meta.env.VITE_CLERK_PROXY_URL} clerkJSUrl={import.meta.env.VITE_CLERK_JS_URL}",
            "  signInUrl={import.meta.env.VITE_CLERK_SIGN_IN_URL} signUpUrl={import.meta.env.VITE_CLERK_SIGN_UP_URL}>",
        ],
        code_https: &[
            "<ClerkProvider publishableKey={import.meta.env.VITE_CLERK_PUBLISHABLE_KEY} telemetry={false}",
            "  signInUrl=\"/sign-in\" signUpUrl=\"/sign-up\">, with pages there that show <SignIn /> and <SignUp />",
        ],
        code_production: Some(&[
            "<ClerkProvider publishableKey={import.meta.env.VITE_CLERK_PUBLISHABLE_KEY} telemetry={false}>",
        ]),
        ..VITE
    },
    Framework {
        name: "html",
        aliases: &["javascript", "clerk-js"],
        title: "HTML and JavaScript, without a framework",
        package: "@clerk/clerk-js",
        file: "index.html",
        secret_key: None,
        api_url: None,
        is_markup: true,
        ..BACKEND_ONLY
    },
    Framework {
        name: "astro",
        title: "Astro",
        package: "@clerk/astro",
        publishable_key: Some("PUBLIC_CLERK_PUBLISHABLE_KEY"),
        proxy_url: Some("PUBLIC_CLERK_PROXY_URL"),
        scripts: Some(Scripts {
            clerk_js: ("PUBLIC_CLERK_JS_URL", "6"),
            ui: Some(("PUBLIC_CLERK_UI_URL", "1")),
        }),
        sign_in_url: Some("PUBLIC_CLERK_SIGN_IN_URL"),
        sign_up_url: Some("PUBLIC_CLERK_SIGN_UP_URL"),
        telemetry: &["PUBLIC_CLERK_TELEMETRY_DISABLED"],
        ..BACKEND_ONLY
    },
    Framework {
        name: "vue",
        title: "Vue with Vite",
        package: "@clerk/vue",
        file: ".env.local",
        code_plain: &[
            "app.use(clerkPlugin, { publishableKey: import.meta.env.VITE_CLERK_PUBLISHABLE_KEY, telemetry: false,",
            "  proxyUrl: import.meta.env.VITE_CLERK_PROXY_URL,",
            "  signInUrl: import.meta.env.VITE_CLERK_SIGN_IN_URL, signUpUrl: import.meta.env.VITE_CLERK_SIGN_UP_URL,",
            "  ...{ __internal_clerkJSUrl: import.meta.env.VITE_CLERK_JS_URL,",
            "    __internal_clerkUIUrl: import.meta.env.VITE_CLERK_UI_URL } })",
        ],
        code_https: &[
            "app.use(clerkPlugin, { publishableKey: import.meta.env.VITE_CLERK_PUBLISHABLE_KEY, telemetry: false,",
            "  signInUrl: '/sign-in', signUpUrl: '/sign-up' }), with pages there that show <SignIn /> and <SignUp />",
        ],
        code_production: Some(&[
            "app.use(clerkPlugin, { publishableKey: import.meta.env.VITE_CLERK_PUBLISHABLE_KEY, telemetry: false })",
        ]),
        ..VITE
    },
    Framework {
        name: "nuxt",
        title: "Nuxt",
        package: "@clerk/nuxt",
        publishable_key: Some("NUXT_PUBLIC_CLERK_PUBLISHABLE_KEY"),
        secret_key: Some("NUXT_CLERK_SECRET_KEY"),
        api_url: Some(ApiUrl::Bare("NUXT_CLERK_API_URL")),
        proxy_url: Some("NUXT_PUBLIC_CLERK_PROXY_URL"),
        scripts: Some(Scripts {
            clerk_js: ("NUXT_PUBLIC_CLERK_JS_URL", "6"),
            ui: Some(("NUXT_PUBLIC_CLERK_UI_URL", "1")),
        }),
        sign_in_url: Some("NUXT_PUBLIC_CLERK_SIGN_IN_URL"),
        sign_up_url: Some("NUXT_PUBLIC_CLERK_SIGN_UP_URL"),
        code_plain: NUXT,
        code_https: NUXT,
        ..BACKEND_ONLY
    },
    Framework {
        name: "svelte",
        aliases: &["sveltekit"],
        title: "SvelteKit",
        package: "svelte-clerk",
        publishable_key: Some("PUBLIC_CLERK_PUBLISHABLE_KEY"),
        api_url: Some(ApiUrl::Bare("PUBLIC_CLERK_API_URL")),
        proxy_url: Some("PUBLIC_CLERK_PROXY_URL"),
        scripts: Some(Scripts {
            clerk_js: ("PUBLIC_CLERK_JS_URL", "6"),
            ui: Some(("PUBLIC_CLERK_UI_URL", "1")),
        }),
        sign_in_url: Some("PUBLIC_CLERK_SIGN_IN_URL"),
        sign_up_url: Some("PUBLIC_CLERK_SIGN_UP_URL"),
        telemetry: &["PUBLIC_CLERK_TELEMETRY_DISABLED"],
        // It reads no variable for the second script, and loads none if the page has it.
        code_plain: &[
            "in the <head> of src/app.html:",
            "<script crossorigin=\"anonymous\" src=\"%sveltekit.env.PUBLIC_CLERK_UI_URL%\"></script>",
        ],
        ..BACKEND_ONLY
    },
    Framework { name: "react-router", title: "React Router", package: "@clerk/react-router", ..VITE_SERVER },
    Framework {
        name: "tanstack",
        aliases: &["tanstack-start", "tanstack-react-start"],
        title: "TanStack Start",
        package: "@clerk/tanstack-react-start",
        ..VITE_SERVER
    },
    Framework {
        name: "remix",
        title: "Remix",
        package: "@clerk/remix",
        publishable_key: Some("CLERK_PUBLISHABLE_KEY"),
        proxy_url: Some("CLERK_PROXY_URL"),
        scripts: Some(Scripts { clerk_js: ("CLERK_JS", "5"), ui: None }),
        sign_in_url: Some("CLERK_SIGN_IN_URL"),
        sign_up_url: Some("CLERK_SIGN_UP_URL"),
        telemetry: &["CLERK_TELEMETRY_DISABLED"],
        ..BACKEND_ONLY
    },
    Framework {
        name: "expo",
        title: "Expo",
        package: "@clerk/expo",
        publishable_key: Some("EXPO_PUBLIC_CLERK_PUBLISHABLE_KEY"),
        secret_key: None,
        api_url: None,
        proxy_url: Some("EXPO_PUBLIC_CLERK_PROXY_URL"),
        code_plain: &[
            "<ClerkProvider publishableKey={process.env.EXPO_PUBLIC_CLERK_PUBLISHABLE_KEY} telemetry={false}",
            "  proxyUrl={process.env.EXPO_PUBLIC_CLERK_PROXY_URL}>",
            "localhost is the phone itself there: on a phone use an address of this machine that it reaches.",
        ],
        code_https: &[
            "<ClerkProvider publishableKey={process.env.EXPO_PUBLIC_CLERK_PUBLISHABLE_KEY} telemetry={false}>",
        ],
        ..BACKEND_ONLY
    },
    Framework {
        name: "express",
        title: "Express",
        package: "@clerk/express",
        proxy_url: Some("CLERK_PROXY_URL"),
        sign_in_url: Some("CLERK_SIGN_IN_URL"),
        telemetry: &["CLERK_TELEMETRY_DISABLED"],
        ..NODE_SERVER
    },
    Framework {
        name: "fastify",
        title: "Fastify",
        package: "@clerk/fastify",
        proxy_url: Some("CLERK_PROXY_URL"),
        sign_in_url: Some("CLERK_SIGN_IN_URL"),
        telemetry: &["CLERK_TELEMETRY_DISABLED"],
        code_plain: &[
            "app.register(clerkPlugin, { apiUrl: process.env.CLERK_API_URL,",
            "  proxyUrl: process.env.CLERK_PROXY_URL, signInUrl: process.env.CLERK_SIGN_IN_URL })",
        ],
        code_https: &["app.register(clerkPlugin, { apiUrl: process.env.CLERK_API_URL })"],
        ..NODE_SERVER
    },
    Framework {
        name: "hono",
        title: "Hono",
        package: "@clerk/hono",
        proxy_url: Some("CLERK_PROXY_URL"),
        sign_in_url: Some("CLERK_SIGN_IN_URL"),
        telemetry: &["CLERK_TELEMETRY_DISABLED"],
        code_plain: &[
            "app.use('*', clerkMiddleware({ proxyUrl: process.env.CLERK_PROXY_URL,",
            "  signInUrl: process.env.CLERK_SIGN_IN_URL }))",
        ],
        ..NODE_SERVER
    },
    Framework {
        name: "node",
        aliases: &["nodejs", "backend"],
        title: "Backends on Node, without a framework",
        package: "@clerk/backend",
        telemetry: &["CLERK_TELEMETRY_DISABLED"],
        code_plain: NODE,
        code_https: NODE,
        ..NODE_SERVER
    },
    Framework {
        name: "python",
        title: "Python",
        package: "clerk-backend-api",
        api_url: Some(ApiUrl::Versioned("CLERK_API_URL")),
        code_plain: PYTHON,
        code_https: PYTHON,
        ..BACKEND_ONLY
    },
    Framework {
        name: "go",
        aliases: &["golang"],
        title: "Go",
        package: "github.com/clerk/clerk-sdk-go/v2",
        api_url: Some(ApiUrl::Versioned("CLERK_API_URL")),
        issuer: Some("CLERK_ISSUER"),
        code_plain: GO,
        code_https: GO,
        ..BACKEND_ONLY
    },
    Framework {
        name: "java",
        title: "Java",
        package: "com.clerk:backend-api",
        api_url: Some(ApiUrl::Versioned("CLERK_API_URL")),
        code_plain: JAVA,
        code_https: JAVA,
        ..BACKEND_ONLY
    },
];

/// The servers of Nuxt read the option `disabled` only. It has no variable, because the module declares none for it.
const NUXT: &[&str] = &["in nuxt.config.ts: clerk: { telemetry: { disabled: true } }"];
const NODE: &[&str] = &[
    "createClerkClient({ apiUrl: process.env.CLERK_API_URL, secretKey: process.env.CLERK_SECRET_KEY,",
    "  publishableKey: process.env.CLERK_PUBLISHABLE_KEY })",
];
const PYTHON: &[&str] = &[
    "Clerk(bearer_auth=os.environ[\"CLERK_SECRET_KEY\"], server_url=os.environ[\"CLERK_API_URL\"]), and to verify requests",
    "  AuthenticateRequestOptions(jwt_key=…) with the key that `latchkey signing-keys public` prints",
];
const GO: &[&str] = &[
    "clerk.SetBackend(clerk.NewBackend(&clerk.BackendConfig{Key: clerk.String(os.Getenv(\"CLERK_SECRET_KEY\")),",
    "  URL: clerk.String(os.Getenv(\"CLERK_API_URL\"))})), and to verify tokens",
    "  jwt.VerifyParams{Token: token, ProxyURL: clerk.String(os.Getenv(\"CLERK_ISSUER\"))}",
];
const JAVA: &[&str] = &[
    "Clerk.builder().bearerAuth(System.getenv(\"CLERK_SECRET_KEY\")).serverURL(System.getenv(\"CLERK_API_URL\")).build()",
];
