import { clerkPlugin } from '@clerk/vue';
import { createApp } from 'vue';

import App from './App.vue';

const env = import.meta.env;

createApp(App)
  .use(clerkPlugin, {
    publishableKey: env.VITE_CLERK_PUBLISHABLE_KEY,
    telemetry: false,
    proxyUrl: env.VITE_CLERK_PROXY_URL,
    signInUrl: env.VITE_CLERK_SIGN_IN_URL ?? '/sign-in',
    signUpUrl: env.VITE_CLERK_SIGN_UP_URL ?? '/sign-up',
    __internal_clerkJSUrl: env.VITE_CLERK_JS_URL,
    __internal_clerkUIUrl: env.VITE_CLERK_UI_URL,
  })
  .mount('#app');
