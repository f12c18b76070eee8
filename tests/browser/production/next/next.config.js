import { join } from 'node:path';

// The packages lie two folders up.
const root = join(import.meta.dirname, '..', '..');

export default { outputFileTracingRoot: root, turbopack: { root }, poweredByHeader: false };
