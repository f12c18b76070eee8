import { join } from 'node:path';

// The packages lie one folder up.
const root = join(import.meta.dirname, '..');

export default { outputFileTracingRoot: root, turbopack: { root }, poweredByHeader: false };
